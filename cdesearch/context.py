"""The sampled context of a corpus: its chunks, their vectors, and what the second stage derives from them."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from cdesearch.errors import IndexDamagedError

Floats = NDArray[np.float32]

_ARRAYS = ("vectors", "keys", "values", "token_weights", "shift", "projection", "sample_vectors")


@dataclass(frozen=True, slots=True)
class TokenFrequencies:
    """In how many of `n_texts` texts each token of the vocabulary occurs."""

    counts: NDArray[np.int64]  # (V,)
    n_texts: int

    def __add__(self, other: "TokenFrequencies") -> "TokenFrequencies":
        return TokenFrequencies(self.counts + other.counts, self.n_texts + other.n_texts)


@dataclass(frozen=True, slots=True)
class Context:
    """All that the second stage knows of a corpus. Fixed when the index is built; documents and queries share it."""

    chunk_ids: tuple[str, ...]
    content_hashes: tuple[str, ...]
    seed: int
    model_fingerprint: str
    fingerprint: str  # of model, sampled texts, token frequencies, seed, and the texts of the statistics
    vectors: Floats  # (J, d) first-stage vectors; zeros where every gate is closed, for nothing would read them
    keys: Floats | None  # (L, J, d) of the context rows in every layer; None where every gate is closed
    values: Floats | None  # (L, J, d)
    token_weights: Floats  # (V,) for idf pooling
    shift: Floats  # (d,) subtracted from the pooled vector
    projection: Floats  # (d, d) applied after the shift
    sample_vectors: Floats  # (J, d) unit vectors of the sampled chunks; in an index, as it holds them, if it does

    def save(self, path: Path) -> None:
        """Write one safetensors file, flushed to disk."""
        names = ("chunk_ids", "content_hashes", "seed", "model_fingerprint", "fingerprint")
        described = json.dumps({name: getattr(self, name) for name in names})
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        stored = {name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None}
        with path.open("wb") as file:
            file.write(save(stored, {"context": described}))
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def load(cls, path: Path) -> "Context":
        """Read what `save` wrote; raises IndexDamagedError."""
        try:
            with safe_open(path, framework="numpy") as file:
                described = json.loads(file.metadata()["context"])
                _check_shapes(file, len(described["chunk_ids"]))
                arrays: dict[str, Any] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no iterator)
            _check_values(arrays)
            n_chunks = len(described["chunk_ids"])
            for name in ("chunk_ids", "content_hashes"):
                described[name] = _checked_texts(described[name], n_chunks)
            if type(described["seed"]) is not int:
                raise ValueError("its seed is no number")
            values: dict[str, Any] = described | {name: arrays.get(name) for name in _ARRAYS}
            return cls(**values)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise IndexDamagedError(
                f"The stored context {path} cannot be read ({error!s:.200}).", "Run `cdesearch index --rebuild`."
            ) from None


def _check_shapes(file: Any, size: int) -> None:
    """Raise ValueError, before any array is read, where these are not those of a context of `size` chunks."""
    shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118 (no iterator)
    kinds = {file.get_slice(name).get_dtype() for name in shapes}
    (d,), (vocabulary,) = shapes["shift"], shapes["token_weights"]
    expected = {
        "vectors": (size, d),
        "token_weights": (vocabulary,),
        "shift": (d,),
        "projection": (d, d),
        "sample_vectors": (shapes["sample_vectors"][0], d),
    }
    if "keys" in shapes:
        cached = (shapes["keys"][0], size, d)
        expected |= {"keys": cached, "values": cached}
    if shapes != expected or kinds != {"F32"}:
        raise ValueError("its arrays are not those of a context")


def _check_values(arrays: dict[str, Any]) -> None:
    """Raise ValueError for numbers that no build writes: every vector that is made with them would be worthless."""
    if not all(np.isfinite(array).all() for array in arrays.values()) or (arrays["token_weights"] < 0).any():
        raise ValueError("its arrays hold values that cannot be")


def _checked_texts(texts: Any, count: int) -> tuple[str, ...]:
    """Raises ValueError where these are not so many texts."""
    if not isinstance(texts, list) or len(texts) != count or not all(isinstance(text, str) for text in texts):
        raise ValueError("its lists do not hold a text for each chunk")
    return tuple(texts)
