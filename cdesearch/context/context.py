"""The context of a corpus, in the four stages in which it is made.

NullContext      the learned null vector in every slot
ContextSample    the sampled chunks and what the second stage derives from them; vectors are not whitened yet
FittedContext    with the whitening, fitted to vectors that were encoded with the sample
Context          with the sampled chunks' vectors; an index stores it, and documents and queries share it
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from cdesearch.context.vectors import Floats
from cdesearch.context.whitening import Whitening
from cdesearch.errors import IndexDamagedError


@dataclass(frozen=True, slots=True)
class NetworkInputs:
    """What the networks read of a context."""

    # (J, d) of the first stage. If the networks read no context, these are pooled vectors, which the context head
    # attends to: zeros before they are computed.
    vectors: Floats
    is_null: NDArray[np.bool_]  # (J,) true for slots that hold the null vector instead
    keys: Floats | None  # (L, J, d) of the context rows in each gated layer; None if every gate is zero
    values: Floats | None  # (L, J, d); None together with the keys
    token_weights: Floats  # (V,) weight of each token of the vocabulary in idf pooling


class EncodingContext(Protocol):
    """A context of any stage, to encode texts with."""

    @property
    def inputs(self) -> NetworkInputs:
        """The inputs of the networks."""

    @property
    def whitening(self) -> Whitening:
        """The whitening that the statistics head applies."""

    @property
    def attended(self) -> Floats | None:
        """(m, n) vectors of sampled chunks, m <= J, to which the context head attends; None before a fit."""


@dataclass(frozen=True, slots=True)
class NullContext:
    """The absence of a context."""

    inputs: NetworkInputs
    whitening: Whitening  # the identity
    attended: None = None


@dataclass(frozen=True, slots=True)
class SampledChunks:
    """The chunks that were sampled, and the model that they were sampled for."""

    chunk_ids: tuple[str, ...]  # J
    content_hashes: tuple[str, ...]  # J
    seed: int
    model_fingerprint: str


@dataclass(frozen=True, slots=True)
class ContextSample:
    """The sample, before any vectors of the corpus have been computed."""

    sampled: SampledChunks
    fingerprint: str  # of model, sampled texts, token weights and seed
    inputs: NetworkInputs
    whitening: Whitening  # the identity
    attended: None = None

    def save(self, path: Path) -> None:
        """Write one safetensors file."""
        _write(path, self.sampled, self.fingerprint, _arrays(self.inputs))

    @classmethod
    def load(cls, path: Path) -> "ContextSample":
        """Read a file written by `save`; raises IndexDamagedError."""
        stored = _Stored.read(path)
        return cls(
            stored.sampled, stored.fingerprint, stored.inputs, Whitening.identity(stored.inputs.vectors.shape[1])
        )


@dataclass(frozen=True, slots=True)
class FittedContext:
    """The sample with the whitening of its corpus."""

    sampled: SampledChunks
    fingerprint: str  # of the sample's fingerprint and the texts whose vectors the whitening was fitted to
    inputs: NetworkInputs
    whitening: Whitening
    # (m, n) unit vectors of the chunks in `attended_chunks`: whitened, and in the context of their documents
    attended: Floats

    @property
    def attended_chunks(self) -> tuple[str, ...]:
        """The ids (m) of the chunks of `attended`."""
        return _with_vectors(self.sampled, self.inputs)

    def save(self, path: Path) -> None:
        """Write one safetensors file."""
        arrays = _arrays(self.inputs) | asdict(self.whitening) | {"attended": self.attended}
        _write(path, self.sampled, self.fingerprint, arrays)

    @classmethod
    def load(cls, path: Path) -> "FittedContext":
        """Read a file written by `save`; raises IndexDamagedError."""
        stored = _Stored.read(path, "shift", "projection", "attended")
        return cls(stored.sampled, stored.fingerprint, stored.inputs, stored.whitening, stored.arrays["attended"])


@dataclass(frozen=True, slots=True)
class Context:
    """The complete context of a corpus. Fixed when the index is built."""

    sampled: SampledChunks
    fingerprint: str  # the fingerprint of the FittedContext it was made from
    inputs: NetworkInputs
    whitening: Whitening
    attended: Floats  # as in `FittedContext`
    # (n, whitening.dimension) unit vectors of sampled chunks, n <= J; in an index, as its table holds them
    sample_vectors: Floats

    @classmethod
    def of(cls, fitted: FittedContext, sample_vectors: Floats) -> "Context":
        """The complete context, from a fitted one and the vectors of its sampled chunks."""
        parts = fitted.sampled, fitted.fingerprint, fitted.inputs, fitted.whitening, fitted.attended
        return cls(*parts, sample_vectors)

    @property
    def sample(self) -> ContextSample:
        """The sample without the whitening; encoded with it, a text has its first-stage vector."""
        identity = Whitening.identity(len(self.whitening.shift))
        return ContextSample(self.sampled, self.fingerprint, self.inputs, identity)

    def save(self, path: Path) -> None:
        """Write one safetensors file."""
        arrays = _arrays(self.inputs) | asdict(self.whitening)
        arrays |= {"attended": self.attended, "sample_vectors": self.sample_vectors}
        _write(path, self.sampled, self.fingerprint, arrays)

    @classmethod
    def load(cls, path: Path) -> "Context":
        """Read a file written by `save`; raises IndexDamagedError."""
        stored = _Stored.read(path, "shift", "projection", "attended", "sample_vectors")
        vectors = (stored.arrays[name] for name in ("attended", "sample_vectors"))
        return cls(stored.sampled, stored.fingerprint, stored.inputs, stored.whitening, *vectors)

    @property
    def attended_chunks(self) -> tuple[str, ...]:
        """The ids (m) of the chunks of `attended`."""
        return _with_vectors(self.sampled, self.inputs)


def _with_vectors(sampled: SampledChunks, inputs: NetworkInputs) -> tuple[str, ...]:
    """The ids of the sampled chunks that have a first-stage vector."""
    rows = zip(sampled.chunk_ids, inputs.vectors, strict=True)
    return tuple(chunk for chunk, vector in rows if vector.any())


def _arrays(inputs: NetworkInputs) -> dict[str, Any]:
    """The arrays to store. `is_null` is not among them, because no slot of a sampled context is null."""
    names = ("vectors", "keys", "values", "token_weights")
    return {name: array for name in names if (array := getattr(inputs, name)) is not None}


def _write(path: Path, sampled: SampledChunks, fingerprint: str, arrays: Mapping[str, Any]) -> None:
    """Write one safetensors file and flush it to disk."""
    described = json.dumps(asdict(sampled) | {"fingerprint": fingerprint})
    stored = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with path.open("wb") as file:
        file.write(save(stored, {"context": described}))
        file.flush()
        os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class _Stored:
    """The contents of a file that one of these stages has written."""

    sampled: SampledChunks
    fingerprint: str
    arrays: dict[str, Any]

    @property
    def inputs(self) -> NetworkInputs:
        arrays = self.arrays
        is_null = np.zeros(len(arrays["vectors"]), bool)
        return NetworkInputs(
            arrays["vectors"], is_null, arrays.get("keys"), arrays.get("values"), arrays["token_weights"]
        )

    @property
    def whitening(self) -> Whitening:
        return Whitening(self.arrays["shift"], self.arrays["projection"])

    @classmethod
    def read(cls, path: Path, *further: str) -> "_Stored":
        """The arrays of a ContextSample and those named `further`; raises IndexDamagedError."""
        try:
            with safe_open(path, framework="numpy") as file:
                described = json.loads(file.metadata()["context"])
                _check_shapes(file, len(described["chunk_ids"]), further)
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no iterator)
            _check_values(arrays)
            fingerprint = described.pop("fingerprint")
            n_chunks = len(described["chunk_ids"])
            for name in ("chunk_ids", "content_hashes"):
                described[name] = _checked_texts(described[name], n_chunks)
            if type(described["seed"]) is not int:
                raise ValueError("its seed is not a number")
            return cls(SampledChunks(**described), fingerprint, arrays)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise IndexDamagedError(
                f"The stored context {path} cannot be read ({error!s:.200}).", "Save the context again."
            ) from None


def _check_shapes(file: Any, size: int, further: tuple[str, ...]) -> None:
    """Raise ValueError, before any array is read, if the shapes do not fit a context of `size` chunks."""
    shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118 (no iterator)
    kinds = {file.get_slice(name).get_dtype() for name in shapes}
    (_, d), (vocabulary,) = shapes["vectors"], shapes["token_weights"]
    expected: dict[str, tuple[int, ...]] = {"vectors": (size, d), "token_weights": (vocabulary,)}
    if "shift" in further:
        _, dimension = shapes["projection"]
        if not 1 <= dimension <= d:
            raise ValueError("its projection has an impossible number of dimensions")
        expected |= {"shift": (d,), "projection": (d, dimension)}
        for name in {"attended", "sample_vectors"}.intersection(further):
            expected[name] = (min(shapes[name][0], size), dimension)
    if "keys" in shapes:
        cached = (shapes["keys"][0], size, d)
        expected |= {"keys": cached, "values": cached}
    if shapes != expected or kinds != {"F32"}:
        raise ValueError("its arrays are not those of a context")


def _check_values(arrays: dict[str, Any]) -> None:
    """Raise ValueError for values that would make every vector meaningless."""
    if not all(np.isfinite(array).all() for array in arrays.values()) or (arrays["token_weights"] < 0).any():
        raise ValueError("its arrays hold impossible values")


def _checked_texts(texts: Any, count: int) -> tuple[str, ...]:
    """The texts as a tuple; raises ValueError unless there are `count` of them."""
    if not isinstance(texts, list) or len(texts) != count or not all(isinstance(text, str) for text in texts):
        raise ValueError("its lists do not hold a text for each chunk")
    return tuple(texts)
