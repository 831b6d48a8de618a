"""Show what the stages of a model make and read.

The first-stage vectors of an index are those before corpus and document change them. The second stage reads the sampled
chunks that a corpus and its queries attend to.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from cdesearch.context.head import ContextHead
from cdesearch.context.vectors import Floats
from cdesearch.errors import IndexUntrustedError, ModelError
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.config import HeadConfig, ModelConfig
from cdesearch.models.contextual.family import ContextualFamily
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.models.hub import checkpoint_folder
from cdesearch.models.registry import family_of
from cdesearch.search.documents import quoted, read_chunks, read_table
from cdesearch.store.index import Index
from cdesearch.terminal import counted

if TYPE_CHECKING:
    from cdesearch.encode.encoder import Encoder

SHOWN = 6  # chunks, or paths
READ = 4 * SHOWN  # chunks whose text is read, because an update may have removed some that were sampled
START = 160  # characters of a chunk that are shown


@dataclass(frozen=True, slots=True)
class AttendedChunk:
    """A sampled chunk that a query attends to."""

    chunk: str
    document: str
    path: str
    start: str  # its first words
    weight: float  # the share of the attention


@dataclass(frozen=True, slots=True)
class ContextEvidence:
    """What a query attends to."""

    reads: int  # sampled chunks that the query can attend to
    attended: tuple[AttendedChunk, ...]  # those with the highest weights that the index still has
    sink: float  # the share of the attention that no chunk gets


def describe_second_stage(index: Index) -> dict[str, Any]:
    """The fields of the status: what the second stage reads, and the paths that the sampled chunks attend to most.

    The model is not loaded. Empty for an index without vectors, and if its model is not here or not confirmed.
    """
    if index.manifest.n_vectors == 0:
        return {}
    try:
        index.require_trust(folders=False)
        reads_context, config = _settings(index)
    except (ModelError, IndexUntrustedError):
        return {}
    context = index.context
    if reads_context or context.inputs.keys is not None:  # which networks with cached attention store
        return {"second_stage": f"reads {counted(len(context.sampled.chunk_ids), 'chunk')}"}
    attended = context.attended
    if config is None or not len(attended):
        is_whitened = context.whitening.shift.any()
        return {"second_stage": "whitened by the mean and covariance of the corpus" if is_whitened else "none"}
    weights = ContextHead(config).attend(attended, attended, "document").weights.mean(axis=0)
    best = _by_weight(context.attended_chunks, weights)
    return {"second_stage": f"reads {counted(len(attended), 'chunk')}", "most_attended": _paths(index, best)}


def _settings(index: Index) -> tuple[bool, HeadConfig | None]:
    """Whether the networks read the context by joint attention, and the context head; raises ModelError."""
    model = index.model_to_open
    if isinstance(model, EndpointModel):
        return False, None
    folder = DEFAULT_MODEL if model is None else checkpoint_folder(model, fetch=False)
    family = family_of(folder)
    if not isinstance(family, ContextualFamily):
        return family.reads_corpus, None
    config = ModelConfig.load(folder)
    return config.context_attention == "joint", config.context_head


def _by_weight(chunks: Sequence[str], weights: Floats) -> dict[str, float]:
    """The weight of each chunk, the highest first."""
    return {chunks[at]: float(weights[at]) for at in np.argsort(-weights, kind="stable")}


def _paths(index: Index, weights: Mapping[str, float]) -> list[str]:
    """The paths of the first chunks with some attention that are still in the index, each once."""
    rows = read_table(index, _named(index, weights).select(["id", "path"])).to_pylist()
    path_of = {row["id"]: row["path"] for row in rows}
    paths = (path_of.get(chunk) for chunk, weight in weights.items() if weight > 0)
    return list(dict.fromkeys(path for path in paths if path is not None))[:SHOWN]


def _named(index: Index, chunks: Iterable[str]) -> Any:
    """A query for the chunks with these ids."""
    return index.async_chunks.query().where(f"id IN ({', '.join(map(quoted, chunks))})")


def context_evidence(index: Index, encoder: "Encoder", query: str) -> ContextEvidence | None:
    """What a query attends to; None for a model without a head."""
    context = index.context_for(encoder)
    head, attended = encoder.head, context.attended
    if head is None or not len(attended):
        return None
    asked = context.whitening.apply(encoder.encode([query], "query", context.sample))
    weights = head.attend(asked, attended, "query").weights[0]
    return ContextEvidence(
        len(attended),
        _attended(index, _by_weight(context.attended_chunks, weights)),
        sink=max(0.0, 1 - float(weights.sum())),
    )


def _attended(index: Index, weights: Mapping[str, float]) -> tuple[AttendedChunk, ...]:
    """The first chunks with some attention that are still in the index; `weights` has the highest first."""
    first = dict(islice(weights.items(), READ))
    found = {chunk.id: chunk for chunk in read_chunks(index, _named(index, first)).values()}
    shown = [(found[name], weight) for name, weight in first.items() if weight > 0 and name in found][:SHOWN]
    return tuple(
        AttendedChunk(chunk.id, chunk.document_id, chunk.path, " ".join(chunk.body.split())[:START], weight)
        for chunk, weight in shown
    )


def is_kept(index: Index, encoder: "Encoder") -> bool:
    """Whether the index has these vectors by the hashes of texts. Chunks that are read together have other keys."""
    return index.vectors.keeps_first_stage and not encoder.joins_chunks


def first_stage_of(index: Index, hashes: Iterable[str] | None = None) -> dict[str, Floats]:
    """The vectors (d,) of the texts with these hashes that are stored, or of all texts; raises IndexDamagedError."""
    with index.checks.reading_tables():
        search = index.first_stage.search().select(["key", "codes", "scale"])
        if hashes is not None:
            search = search.where(f"key IN ({', '.join(map(quoted, hashes))})")
        found = search.limit(index.first_stage.count_rows()).to_arrow()
        vectors = index.first_stage_format.decode(found)
    return dict(zip(found["key"].to_pylist(), vectors, strict=True))


def own_cosine(index: Index, encoder: "Encoder", query: str, chunk_hash: str) -> float | None:
    """The cosine of a query and a chunk, whitened but not changed by the document or by the context head.

    None if the index does not keep the vector.
    """
    if not is_kept(index, encoder):
        return None
    context = index.context_for(encoder)
    found = first_stage_of(index, [chunk_hash])
    if not found:
        return None
    asked = encoder.encode([query], "query", context.sample)
    pair = context.whitening.apply(np.concatenate([asked, *(vector[None] for vector in found.values())]))
    return float(pair[0] @ pair[1])
