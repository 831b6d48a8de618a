"""Rank the candidates of several indexes together, as if they were those of one index."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cdesearch.search.confidence import CosineScale
from cdesearch.search.fusion import Candidates, EvidenceFusion, Scores, noise_of
from cdesearch.search.reader import Gathered, GenerationReader, Mode
from cdesearch.store.schema import Chunk, Hit


@dataclass(frozen=True, slots=True)
class Part:
    """The candidates of one index, with the reader of its generation."""

    name: str  # of the index
    reader: GenerationReader
    gathered: Gathered

    @property
    def vectors_of(self) -> tuple[str, int]:
        """The model of the index and the dimension of its vectors, on which cosines depend."""
        manifest = self.reader.index.manifest
        return manifest.model_fingerprint, manifest.dimension

    def with_text(self, text: Scores) -> "Part":
        """Return this part with other BM25 scores (n,) of its candidates."""
        return replace(self, gathered=replace(self.gathered, candidates=replace(self.gathered.candidates, text=text)))

    def chunks(self, rows: Sequence[int]) -> dict[int, Chunk]:
        """Read chunks by their row ids; raises IndexDamagedError."""
        with self.reader.index.checks.reporting_damage():
            return self.reader.chunks(np.array(sorted(rows), np.uint64))


@dataclass(frozen=True, slots=True)
class Pool:
    """The n candidates of all indexes, best first."""

    parts: tuple[Part, ...]
    owners: NDArray[np.intp]  # (n,) the position in `parts` of the index of each candidate
    rows: NDArray[np.uint64]  # (n,) row ids in the index
    scores: Scores  # (n,)
    candidates: Candidates  # in the order of the parts, not of the scores
    order: NDArray[np.intp]  # (n,) positions in `candidates`, best first

    @property
    def noise(self) -> float:
        """The BM25 score that many candidates reach; 0 if full text found nothing."""
        return noise_of(self.candidates.text)

    def hits(self, at_once: int) -> Iterator[Hit]:
        """Yield all candidates as hits, best first. `at_once` chunks are read together. Raises IndexDamagedError."""
        for start in range(0, len(self.order), at_once):
            places = self.order[start : start + at_once]
            chunks = [
                part.chunks(self.rows[places[self.owners[places] == number]].tolist())
                for number, part in enumerate(self.parts)
            ]
            for rank, place in enumerate(places.tolist(), start + 1):
                owner = int(self.owners[place])
                dense, text = (_known(scores[place]) for scores in (self.candidates.dense, self.candidates.text))
                chunk = chunks[owner][int(self.rows[place])]
                yield Hit(rank, float(self.scores[place]), chunk, dense, text, index=self.parts[owner].name)


def pool(parts: Sequence[Part], mode: Mode) -> Pool:
    """Rank the candidates of all parts.

    If some parts hold all chunks that may be hits, because these contain a quoted phrase, the others are left out.
    """
    parts = [part for part in parts if part.gathered.is_complete] or parts
    every = [part.gathered for part in parts]
    owners = np.repeat(np.arange(len(parts)), [len(one.rows) for one in every])
    rows = np.concatenate([one.rows for one in every])
    of_all = Candidates(
        np.concatenate([one.candidates.dense for one in every]),
        np.concatenate([one.candidates.text for one in every]),
        np.concatenate([one.candidates.null for one in every]),
        _documents(every),
        max(one.candidates.blindness for one in every),
    )
    scores = _scores(parts, of_all, mode)
    order = np.lexsort((rows, owners, -scores))  # ties as in one index
    return Pool(tuple(parts), owners, rows, scores, of_all, order)


def _scores(parts: Sequence[Part], of_all: Candidates, mode: Mode) -> Scores:
    """Return the scores (n,) by which all candidates are ranked."""
    if mode == "text" or np.isnan(of_all.dense).all():
        return of_all.text
    compared = of_all
    if len({part.vectors_of for part in parts}) > 1:
        scales = _scales(parts)
        dense = [_deviations(part.gathered.candidates.dense, one) for part, one in zip(parts, scales, strict=True)]
        null = [_deviations(part.gathered.candidates.null, one) for part, one in zip(parts, scales, strict=True)]
        compared = replace(of_all, dense=np.concatenate(dense), null=np.concatenate(null))
    if mode == "dense":
        return compared.dense
    return EvidenceFusion().scores(compared)


def _scales(parts: Sequence[Part]) -> list[CosineScale]:
    """Return the scale of the cosines of each index. An index that is too small to have one gets the mean of others."""
    scales = [part.reader.scale for part in parts]
    known = [scale for scale in scales if scale is not None] or [CosineScale(0.0, 1.0)]
    mean = float(np.mean([scale.mean for scale in known]))
    spread = float(np.mean([scale.spread for scale in known]))
    return [scale or CosineScale(mean, spread) for scale in scales]


def _deviations(cosines: Scores, scale: CosineScale) -> Scores:
    return (cosines - scale.mean) / scale.spread


def _documents(every: Sequence[Gathered]) -> list[str] | None:
    """Return the document of each candidate if any index has documents that consist of records, otherwise None.

    In an index without such documents, every chunk counts as a document of its own.
    """
    if all(one.candidates.documents is None for one in every):
        return None
    return [
        f"{number} {name}"
        for number, one in enumerate(every)
        for name in one.candidates.documents or map(str, one.rows.tolist())
    ]


def _known(score: float) -> float | None:
    return None if np.isnan(score) else float(score)
