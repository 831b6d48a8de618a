"""How an index stores vectors. All code that writes or reads the vectors of a table goes through this module.

float32   the vectors
float16   the vectors, rounded
int8      whole numbers with one scale for each vector, and the signs of its components
binary    only the signs

LanceDB cannot search whole numbers. In an index with signs, the candidates of a search are those with most signs in
common with the query, and their cosines are then computed from what is stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from cdesearch.store.damage import damaged
from cdesearch.store.place import Place

if TYPE_CHECKING:  # a query that a server answers imports this module, and needs no numpy
    import pyarrow as pa

    from cdesearch.context.vectors import Floats

VectorKind = Literal["float32", "float16", "int8", "binary"]
KINDS: tuple[VectorKind, ...] = get_args(VectorKind)
VECTOR_INDEX = "vector_idx"  # the name that an index of vectors has in LanceDB
FIRST_STAGE = "first_stage"  # the name of a table
TOKENS = "tokens"  # the column of the tokens of a text for late interaction, see `cdesearch.encode.token_signs`
DEFAULT: VectorKind = "float16"  # of a new index; it costs no quality, see benchmarks/results/LOG.md


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """The columns that hold the vectors of one index."""

    kind: str  # one of KINDS
    dimension: int

    @property
    def has_bits(self) -> bool:
        """Whether a search compares signs first."""
        return self.kind in ("int8", "binary")

    @property
    def searched(self) -> str:
        """The column that a search compares with `sought`."""
        return "bits" if self.has_bits else "vector"

    @property
    def distance(self) -> Literal["cosine", "hamming"]:
        """The distance by which it compares them."""
        return "hamming" if self.has_bits else "cosine"

    @property
    def columns(self) -> list[str]:
        """The columns that `read` needs."""
        return {"int8": ["codes", "scale"], "binary": ["bits"]}.get(self.kind, ["vector"])

    @property
    def keeps_first_stage(self) -> bool:
        """Whether the index has the vectors before its context and the tokens; int8 and binary are chosen for size."""
        return not self.has_bits

    @property
    def n_bytes(self) -> int:
        """The bytes of one vector, without the search index."""
        packed = -(-self.dimension // 8)
        sizes = {"float32": 4 * self.dimension, "float16": 2 * self.dimension, "binary": packed}
        return sizes.get(self.kind, self.dimension + 4 + packed)

    def fields(self) -> "list[pa.Field]":
        """The columns of the table. The bits are null for a vector of zeros, which stands for a missing one."""
        import pyarrow as pa

        if not self.has_bits:
            numbers = pa.float16() if self.kind == "float16" else pa.float32()
            vector = pa.field("vector", pa.list_(numbers, self.dimension), nullable=False)
            return [vector, pa.field(TOKENS, pa.binary(), nullable=False)]
        bits = pa.field("bits", pa.list_(pa.uint8(), -(-self.dimension // 8)))
        if self.kind == "binary":
            return [bits]
        codes = pa.field("codes", pa.list_(pa.int8(), self.dimension), nullable=False)
        return [codes, pa.field("scale", pa.float32(), nullable=False), bits]

    def arrays(self, vectors: "Floats", tokens: Sequence[bytes]) -> "list[pa.Array]":
        """Encode vectors (n, d) and the tokens of n texts as the columns `fields`."""
        import pyarrow as pa

        from cdesearch.context.rounding import to_bits, to_codes

        def column(numbers: Any, mask: Any = None) -> Any:
            return pa.FixedSizeListArray.from_arrays(pa.array(numbers.reshape(-1)), numbers.shape[1], mask=mask)

        if not self.has_bits:
            return [column(vectors.astype(self.kind)), pa.array(tokens, pa.binary())]
        bits = column(to_bits(vectors), pa.array(~vectors.any(axis=1)))
        if self.kind == "binary":
            return [bits]
        codes, scales = to_codes(vectors)
        return [column(codes), pa.array(scales), bits]

    def decode(self, rows: Any) -> "Floats":
        """The vectors (n, d) in the `columns` of an Arrow table or batch; zeros if the vector is missing."""
        import numpy as np

        from cdesearch.context.rounding import from_bits, from_codes

        def numbers(name: str) -> Any:
            return _joined(rows[name]).flatten().to_numpy(zero_copy_only=False)

        if self.kind == "int8":
            codes = numbers("codes").reshape(-1, self.dimension)
            return from_codes(codes, _joined(rows["scale"]).to_numpy(zero_copy_only=False))
        if self.kind == "binary":
            vectors = np.zeros((rows.num_rows, self.dimension), np.float32)
            is_known = _joined(rows["bits"]).is_valid().to_numpy(zero_copy_only=False)
            # Flattening leaves out the rows that are null.
            vectors[is_known] = from_bits(numbers("bits").reshape(-1, -(-self.dimension // 8)), self.dimension)
            return vectors
        stored: Floats = numbers("vector").reshape(-1, self.dimension).astype(np.float32, copy=False)
        return stored

    def read(self, rows: Any, place: Place) -> "Floats":
        """What `decode` returns; raises IndexDamagedError for the index at `place` if a number is not finite."""
        import numpy as np

        vectors = self.decode(rows)
        if not np.isfinite(vectors).all():
            raise damaged(place, "it holds vectors that are not numbers")
        return vectors

    def rounded(self, vectors: "Floats") -> "Floats":
        """The vectors (n, d) as the index would return them."""
        import pyarrow as pa

        arrays = self.arrays(vectors, [b""] * len(vectors))
        return self.decode(pa.Table.from_arrays(arrays, schema=pa.schema(self.fields())))

    def sought(self, vector: "Floats") -> Any:
        """The vector (d,) of a query as the column `searched` is compared with it."""
        from cdesearch.context.rounding import to_bits

        return to_bits(vector[None])[0] if self.has_bits else vector


@dataclass(frozen=True, slots=True)
class FirstStageFormat:
    """The columns of the table `first_stage`.

    `key` is the content hash of a text, or names the window that a chunk was read in. The codes and their scale are
    the pooled unit vector before the whitening, rounded. Unless the networks read the context, it depends on the corpus
    only by the weights of tokens.
    """

    dimension: int

    @property
    def schema(self) -> "pa.Schema":
        import pyarrow as pa

        key, tokens = (pa.field(*of, nullable=False) for of in (("key", pa.string()), (TOKENS, pa.binary())))
        return pa.schema([key, *self._codes.fields()[:2], tokens])

    def rows(self, keys: Sequence[str], vectors: "Floats", tokens: Sequence[bytes]) -> "pa.Table":
        """The rows of n keys, with their vectors (n, d) and tokens."""
        import pyarrow as pa

        codes, scales, _ = self._codes.arrays(vectors, tokens)
        columns = [pa.array(keys, pa.string()), codes, scales, pa.array(tokens, pa.binary())]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def decode(self, rows: Any) -> "Floats":
        """The vectors (n, d) of a table with the columns of codes and scales."""
        return self._codes.decode(rows)

    @property
    def _codes(self) -> VectorFormat:
        return VectorFormat("int8", self.dimension)


def _joined(column: Any) -> Any:
    """One array of the chunks of a table's column; that of a batch is one already."""
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column
