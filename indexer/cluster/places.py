"""Where the vector of each chunk is: a file of vectors and a row, both of which may have to be made yet.

A text is embedded once, in the window of the chunk that contains it first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from indexer.cluster.parts import PLACES, VECTORS, Parts, new_file, put_in_place
from indexer.embedding.embedding_cache import cache_schema
from indexer.embedding.spool import KEY

PLACE = np.dtype([("file", np.int32), ("row", np.int32)])
Places = NDArray[Any]  # (n,) of PLACE
HASH = "S32"  # 32 hexadecimal digits
OPEN_FILES = 64


@dataclass(frozen=True, slots=True)
class WindowToDo:
    """A window of chunks in which texts have no vector yet."""

    window: int
    file: int  # the number of the file that will hold the vectors
    n_texts: int


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The files of vectors, those to be made, and the places of the texts to which the whitening is fitted."""

    files: list[str]  # their names, by number
    todo: list[WindowToDo]
    fitted: Places


def locate(parts: Parts, fitted: Sequence[str]) -> Whereabouts:
    """Find or assign a place for every text, and write the places of all chunks to a file.

    `fitted` are the keys of the texts to which the whitening will be fitted. Vectors of an interrupted build are found
    by the hashes of their texts, whatever has changed in the sources since. One task does this for the whole corpus,
    with 100 bytes of memory for each chunk.
    """
    windows = [np.array(window[KEY].to_pylist(), HASH) for window in parts.windows([KEY])]
    keys, firsts, numbers = np.unique(np.concatenate(windows), return_index=True, return_inverse=True)
    del windows
    places = np.full(len(keys), -1, PLACE)
    files: list[str] = []
    for file in sorted((parts.folder / VECTORS).glob("*.arrow")):
        try:
            stored = np.array(_open(file)[0], HASH)
        except (OSError, pa.ArrowInvalid):
            file.unlink()  # a power failure has left a part of it
            continue
        number = len(files)
        files.append(file.stem)
        at = np.minimum(np.searchsorted(keys, stored), len(keys) - 1)
        is_wanted = keys[at] == stored
        places["file"][at[is_wanted]] = number
        places["row"][at[is_wanted]] = np.flatnonzero(is_wanted)
    todo = _assign(keys, firsts, places, files, parts.window)
    _save(parts.folder / PLACES, places[numbers])
    return Whereabouts(files, todo, places[np.searchsorted(keys, np.array(fitted, HASH))])


def _assign(
    keys: NDArray[Any], firsts: NDArray[np.intp], places: Places, files: list[str], window: int
) -> list[WindowToDo]:
    """Give texts without a vector a row in a new file for each window. The names of these files are added to `files`.

    `keys` (u,) are the hashes of the different texts, and `firsts` (u,) the numbers of the first chunks with them.
    """
    missing = np.flatnonzero(places["file"] < 0)
    missing = missing[np.argsort(firsts[missing])]
    bounds = np.flatnonzero(np.diff(firsts[missing] // window)) + 1
    todo = []
    for texts in np.split(missing, bounds) if len(missing) else []:
        todo.append(WindowToDo(int(firsts[texts[0]] // window), len(files), len(texts)))
        places["file"][texts] = len(files)
        places["row"][texts] = np.arange(len(texts))
        files.append(blake2b(keys[texts].tobytes(), digest_size=16).hexdigest())
    return todo


def texts_of(parts: Parts, todo: WindowToDo) -> dict[str, str]:
    """The texts to embed in a window, by key, in the order of their rows."""
    window = next(parts.in_windows(todo.window, todo.window + 1).windows([KEY, "text"]))
    start = todo.window * parts.window
    places = places_of(parts.folder, start, start + window.num_rows)
    rows = np.flatnonzero(places["file"] == todo.file)
    _, firsts = np.unique(places["row"][rows], return_index=True)
    chosen = window.take(pa.array(rows[firsts]))
    return dict(zip(chosen[KEY].to_pylist(), chosen["text"].to_pylist(), strict=True))


def save_vectors(file: Path, keys: Sequence[str], vectors: Floats) -> None:
    """Write a file of vectors (n, d), which is there as a whole or not at all."""
    schema = cache_schema(vectors.shape[1])
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    fresh = new_file(file)
    with pa.ipc.new_file(str(fresh), schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([pa.array(keys, pa.string()), column], schema=schema))
    put_in_place(fresh, file)


def places_of(folder: Path, start: int, stop: int) -> Places:
    """The places of the vectors of chunks from number `start` to `stop`."""
    places: Places = np.load(folder / PLACES, mmap_mode="r")[start:stop]
    return places


def vectors_at(folder: Path, files: Sequence[str], places: Places) -> Floats:
    """The vectors (n, d) at `places` (n,)."""
    vectors: Floats | None = None
    for number in np.unique(places["file"]):
        _, stored = _open(folder / VECTORS / f"{files[number]}.arrow")
        if vectors is None:
            vectors = np.empty((len(places), stored.shape[1]), np.float32)
        is_here = places["file"] == number
        vectors[is_here] = stored[places["row"][is_here]]
    assert vectors is not None
    return vectors


@lru_cache(OPEN_FILES)
def _open(file: Path) -> tuple[list[str], Floats]:
    """The keys and the vectors (n, d) of a file, which never changes."""
    with pa.memory_map(str(file)) as stream:
        batch = pa.ipc.open_file(stream).get_batch(0)
    vectors = batch["vector"]
    return batch["content_hash"].to_pylist(), vectors.flatten().to_numpy().reshape(-1, vectors.type.list_size)


def _save(file: Path, places: Places) -> None:
    fresh = new_file(file)
    with fresh.open("wb") as stream:
        np.save(stream, places)
    put_in_place(fresh, file)
