"""A map of a corpus: its chunks as points in a plane, with the chunks of the context marked, and its drift."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.projection import Projection
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.search.documents import quoted, read_table
from cdesearch.search.drift import Drift, measure_drift
from cdesearch.store.damage import damaged
from cdesearch.store.index import Index
from cdesearch.store.schema import CHUNK_COLUMNS, Chunk, chunk_from_row

MAP_SAMPLE = 5_000  # the approximate number of chunks that are shown of a larger corpus, besides those of the context
MAX_FOLDERS = 8  # groups of points; in a corpus with more folders, the last group combines all other folders
OTHERS = None  # the name of the group that combines all other folders


@dataclass(frozen=True, slots=True)
class MapFolder:
    """A group of points: the chunks of the files below one folder."""

    name: str | None  # the path relative to the indexed folder ("" for the indexed folder itself), or OTHERS
    points: int  # the number of points


@dataclass(frozen=True, slots=True)
class ContextMap:
    """The map of one generation, with n points."""

    chunks: tuple[Chunk, ...]  # n chunks
    points: NDArray[np.float64]  # (n, 2)
    folders: tuple[MapFolder, ...]
    folder_of: tuple[int, ...]  # n positions in `folders`
    is_context: NDArray[np.bool_]  # (n,)
    projection: Projection
    drift: Drift
    n_chunks: int  # the number of chunks of the whole corpus

    @classmethod
    def of(cls, index: Index) -> "ContextMap":
        """Compute the map; raises IndexDamagedError, and IndexStateError for a stage of an unfinished build."""
        if not index.manifest.is_complete:
            raise index.unfinished()
        with index.checks.reporting_damage():
            chunks, vectors = _some_chunks(index)
            sampled = set(index.context.sampled.chunk_ids)
            projection = Projection.fit(vectors)
            folders, folder_of = folders_of([chunk.path for chunk in chunks])
            return cls(
                chunks=chunks,
                points=projection.apply(vectors),
                folders=folders,
                folder_of=folder_of,
                is_context=np.array([chunk.id in sampled for chunk in chunks]),
                projection=projection,
                drift=measure_drift(index),
                n_chunks=index.manifest.n_chunks,
            )

    def locate(self, index: Index, chunk_ids: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Return the coordinates of any chunks of the index, by chunk id; raises IndexDamagedError.

        Ids that are not in the index are left out.
        """
        condition = f"id IN ({', '.join(map(quoted, chunk_ids)) or 'NULL'})"
        table = read_table(index, index.async_chunks.query().where(condition).select(["id", *index.vectors.columns]))
        points = self.projection.apply(to_unit(index.vectors_in(table))).tolist()
        return {chunk: (x, y) for chunk, (x, y) in zip(table["id"].to_pylist(), points, strict=True)}


def folders_of(paths: Sequence[str]) -> tuple[tuple[MapFolder, ...], tuple[int, ...]]:
    """Group files by the folders directly below the deepest folder that contains all of them.

    Returns the folders, the one with most files first, and for each path the position of its folder.
    """
    parts = [path.split("/")[:-1] for path in paths]
    shared = 0
    while parts and all(len(part) > shared and part[shared] == parts[0][shared] for part in parts):
        shared += 1
    names = ["/".join(part[: shared + 1]) for part in parts]
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    shown = ranked if len(ranked) <= MAX_FOLDERS else ranked[: MAX_FOLDERS - 1]
    position = {name: min(number, len(shown)) for number, name in enumerate(ranked)}
    folders = [MapFolder(name, counts[name]) for name in shown]
    if len(shown) < len(ranked):
        folders.append(MapFolder(OTHERS, sum(counts[name] for name in ranked[len(shown) :])))
    return tuple(folders), tuple(position[name] for name in names)


def _some_chunks(index: Index) -> tuple[tuple[Chunk, ...], Floats]:
    """Return the chunks of the map, in the order of their paths, and their unit vectors (n, d).

    A corpus of more than MAP_SAMPLE chunks is represented by a random sample and the context. Content hashes are
    uniformly distributed, so the texts with a hash below a bound are a random sample that is the same every time.
    """
    every = read_table(index, index.async_chunks.query().select(["id", "content_hash"]).with_row_id())
    rows: list[int] = every["_rowid"].to_pylist()
    if len(rows) > MAP_SAMPLE:
        bound = f"{int(MAP_SAMPLE / len(rows) * 2**64):016x}"
        sampled = set(index.context.sampled.chunk_ids)
        names = zip(rows, every["id"].to_pylist(), every["content_hash"].to_pylist(), strict=True)
        rows = [row for row, chunk, content in names if content < bound or chunk in sampled]
    table = read_table(index, index.async_chunks.take_row_ids(rows).select([*CHUNK_COLUMNS, *index.vectors.columns]))
    vectors = to_unit(index.vectors_in(table))
    try:
        chunks = [chunk_from_row(row) for row in table.select(CHUNK_COLUMNS).to_pylist()]
    except ValueError as error:
        raise damaged(index.place, f"it cannot be read ({error})") from None
    order = sorted(range(len(chunks)), key=lambda row: (chunks[row].path, chunks[row].ordinal, chunks[row].id))
    return tuple(chunks[row] for row in order), vectors[order]
