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
        sampled, fingerprint, inputs, _ = _read(path)
        return cls(sampled, fingerprint, inputs, Whitening.identity(inputs.vectors.shape[1]))


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
        sampled, fingerprint, inputs, (shift, projection, attended) = _read(path, "shift", "projection", "attended")
        return cls(sampled, fingerprint, inputs, Whitening(shift, projection), attended)


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
        names = "shift", "projection", "attended", "sample_vectors"
        sampled, fingerprint, inputs, (shift, projection, *vectors) = _read(path, *names)
        return cls(sampled, fingerprint, inputs, Whitening(shift, projection), *vectors)

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


def _read(path: Path, *names: str) -> tuple[SampledChunks, str, NetworkInputs, list[Any]]:
    """The parts that every stage writes, and the arrays of these names; raises IndexDamagedError."""
    try:
        with safe_open(path, framework="numpy") as file:
            described = json.loads(file.metadata()["context"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no iterator)
        fingerprint = described.pop("fingerprint")
        lists = {name: tuple(described[name]) for name in ("chunk_ids", "content_hashes")}
        vectors = arrays["vectors"]
        cached = arrays.get("keys"), arrays.get("values")
        inputs = NetworkInputs(vectors, np.zeros(len(vectors), bool), *cached, arrays["token_weights"])
        return SampledChunks(**described | lists), fingerprint, inputs, [arrays[name] for name in names]
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise IndexDamagedError(
            f"The stored context {path} cannot be read ({error!s:.200}).", "Save the context again."
        ) from None
