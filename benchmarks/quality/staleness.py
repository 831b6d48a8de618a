"""The command `staleness`: how much worse an index that grew from a part of its documents ranks than a new one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.datasets.dataset import Dataset
from benchmarks.datasets.samples import read_domain
from benchmarks.measurement import RESULTS, Measurement, command, measure
from benchmarks.measures import compare, measure_run
from benchmarks.systems.product import index_texts
from cdesearch.context.vectors import to_unit
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.search.drift import measure_drift
from cdesearch.search.options import Mode
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index

MODES: tuple[Mode, ...] = ("dense", "hybrid")
KINDS = ("random", "topical", "foreign")

Rows = Sequence[tuple[str, str]]  # ids and texts
Scores = Mapping[Mode, NDArray[np.float64]]  # nDCG@10 x 100 of every query


@dataclass(frozen=True, slots=True)
class StalenessSettings:
    """The options of `staleness`."""

    data: Annotated[list[Path], typer.Argument(help="Pair files of domains for development.")]
    documents: Annotated[int, typer.Option(help="Documents of each domain.")] = 5000
    characters: Annotated[int, typer.Option(help="Characters to which every document is cut.")] = 300
    queries: Annotated[int, typer.Option(help="Queries of each domain.")] = 500
    shares: Annotated[str, typer.Option(help="Shares of the documents that the index is first built from.")] = "0.1"
    kinds: Annotated[
        str, typer.Option(help="Any of random, topical (about one subject) and foreign (of the next domain).")
    ] = ",".join(KINDS)
    seeds: Annotated[int, typer.Option(help="Parts that are drawn of each kind.")] = 3
    work: Annotated[Path, typer.Option(help="Folder for the indexes.")] = Path("runs/staleness")
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS


@command
def staleness(settings: StalenessSettings) -> None:
    """Index a part of a domain, update the index to the whole, and compare it with an index of the whole.

    A foreign part consists of documents of another domain, which the update removes.
    """
    encoder = load_encoder(settings.model)
    size = {name: getattr(settings, name) for name in ("documents", "characters", "queries")}
    drawn = {name: getattr(settings, name) for name in ("shares", "kinds", "seeds")}
    chosen = [(float(share), kind) for share in settings.shares.split(",") for kind in settings.kinds.split(",")]
    plan = [(share, kind, seed) for share, kind in chosen for seed in range(settings.seeds)]
    domains = [read_domain(file, **size) for file in settings.data]
    for domain, other in zip(domains, [*domains[1:], domains[0]], strict=True):
        growing = _Growing(domain, other, settings.work / domain.name, encoder)
        measure(f"staleness-{domain.name}", {"growth": partial(growing.measured, plan)}, size | drawn, settings.out)


def _rows(domain: Dataset, numbers: Iterable[int]) -> Rows:
    """Ids and texts of some documents."""
    return [(domain.ids[number], domain.texts[number]) for number in numbers]


@dataclass(frozen=True, slots=True)
class _Growing:
    """Builds indexes of one domain and measures them."""

    domain: Dataset
    other: Dataset
    work: Path
    encoder: Encoder

    def measured(self, plan: Sequence[tuple[float, str, int]]) -> list[Measurement]:
        """The figures of a new index, and what each index of the plan loses."""
        everything = _rows(self.domain, range(len(self.domain.texts)))
        whole = index_texts(self.work / "whole", everything, self.encoder)
        reference = self._scores(whole)
        found = [
            Measurement(f"{self.domain.name}: a new index, {mode}", float(scores.mean()), "nDCG@10 x 100")
            for mode, scores in reference.items()
        ]
        vectors = self._vectors(whole)
        for share, kind, seed in plan:
            if kind == "foreign":
                part = _part(np.zeros((len(self.other.texts), 1), np.float32), share, "random", seed)
                first = _rows(self.other, part)
            else:
                first = _rows(self.domain, _part(vectors, share, kind, seed))
            folder = self.work / f"{kind}-{share}-{seed}"
            index_texts(folder, first, self.encoder)
            grown = index_texts(folder, everything, self.encoder)
            found += self._losses(f"grown from {share:g}, {kind} {seed}", grown, reference)
        return found

    def _vectors(self, index: Index) -> NDArray[np.float32]:
        """(n, d) unit vectors of the documents, in the order of the domain."""
        n = len(self.domain.texts)
        columns = ["document_id", *index.vectors.columns]
        rows = index.chunks.search().select(columns).limit(index.chunks.count_rows()).to_arrow()
        vectors = np.zeros((n, index.manifest.dimension), np.float32)
        for name, vector in zip(rows["document_id"].to_pylist(), index.vectors_in(rows), strict=True):
            vectors[int(name.rpartition("-")[2])] += vector
        return to_unit(vectors)

    def _scores(self, index: Index) -> Scores:
        found: dict[Mode, NDArray[np.float64]] = {}
        with Searcher(index, self.encoder) as searcher:
            for mode in MODES:
                hits = {name: searcher.search(text, 10, mode).hits for name, text in self.domain.queries.items()}
                run = {name: list(dict.fromkeys(str(hit.chunk.record) for hit in some)) for name, some in hits.items()}
                found[mode] = measure_run(self.domain.judgements, run)["nDCG@10"]
        return found

    def _losses(self, what: str, index: Index, reference: Scores) -> Iterator[Measurement]:
        scores, drift = self._scores(index), measure_drift(index)
        facts = {
            "chunks": index.manifest.n_chunks,
            "sampled": index.manifest.context_size,
            "standard_errors": drift.standard_errors,
            "distance": float(np.linalg.norm(drift.sample_mean - drift.corpus_mean)),
        }
        for mode in MODES:
            compared = compare(scores[mode], reference[mode])
            detail = facts | {"low": compared.low, "high": compared.high, "p": compared.p}
            yield Measurement(
                f"{self.domain.name}: {what}, {mode}", compared.difference, "points to a new index", detail=detail
            )


def _part(vectors: NDArray[np.float32], share: float, kind: str, seed: int) -> list[int]:
    """Rows of a part of the documents: at random, or those nearest to a document that is drawn at random."""
    random, size = np.random.default_rng(seed), round(share * len(vectors))
    if kind == "random":
        return sorted(random.choice(len(vectors), size, replace=False).tolist())
    centre = vectors[random.integers(len(vectors))]
    return sorted(np.argsort(-(vectors @ centre), kind="stable")[:size].tolist())
