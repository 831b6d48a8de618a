"""The command `lens`: is a part of an index searched better with its own statistics than with a filter?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.comparison import compare
from benchmarks.datasets.dataset import Dataset
from benchmarks.datasets.domain import read_domain
from benchmarks.measurement import RESULTS, Measurement, measure
from benchmarks.quality.choose import CUTOFF, MEASURE, SEED
from benchmarks.quality.measures import measure_run
from benchmarks.systems.contextual import corpus_context, vectors_in
from benchmarks.systems.fused import NULL_SIZE, Rows, run_of
from benchmarks.systems.system import DEPTH
from benchmarks.systems.text import bm25_scores, stemmed
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from cdesearch.search.fusion import Candidates, EvidenceFusion

RESCORED = 200  # of the best hits of the filter, which the lens scores again
K1, B = 1.2, 0.75  # of LanceDB's full text
FUSION = EvidenceFusion()
COMPARED = (("filter", "whole"), ("lens", "whole"), ("lens", "filter"), ("lens, vectors alone", "filter"))

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Space:
    """How n queries resemble m texts, by the statistics of these texts or of a corpus that contains them."""

    cosines: Floats  # (n, m)
    words: Floats  # (n, m) BM25 scores
    null: Floats  # (n, J) cosines with a sample of the corpus

    def part(self, queries: slice, texts: slice) -> "Space":
        """Some queries and texts with the same statistics."""
        return Space(self.cosines[queries, texts], self.words[queries, texts], self.null[queries])

    def among(self, chosen: Sequence[Rows] | None = None) -> list[tuple[Rows, Candidates]]:
        """The candidates of each query: those of a search, or only the chosen ones of these.

        The words of a text count if it is among those that a search by words would read.
        """
        found = []
        for query, (cosines, words) in enumerate(zip(self.cosines, self.words, strict=True)):
            by_words = np.argsort(-words, kind="stable")[: FUSION.text_depth(DEPTH)]
            by_words = by_words[words[by_words] > 0]
            nearest = np.argsort(-cosines, kind="stable")[: FUSION.dense_depth(DEPTH)]
            rows = np.union1d(by_words, nearest) if chosen is None else chosen[query]
            text = np.where(np.isin(rows, by_words), words[rows], np.nan).astype(np.float64)
            found.append((rows, Candidates(cosines[rows].astype(np.float64), text, self.null[query])))
        return found


def lens(
    data: Annotated[list[Path], typer.Argument(help="Pair files of domains, which become one index; at least two.")],
    documents: Annotated[int, typer.Option(help="Documents of each domain.")] = 400,
    characters: Annotated[int, typer.Option(help="Characters to which every document is cut.")] = 600,
    queries: Annotated[int, typer.Option(help="Queries of each domain.")] = 150,
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None,
    work: Annotated[Path, typer.Option(help="Folder for vectors, which later runs read again.")] = Path("runs/lens"),
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Compare the whole index, a filter, and the statistics of a part, with hybrid search in a mixture of domains."""
    if len(data) < 2:
        raise InputError("One domain is no mixture.", "Name two or more.")
    encoder = load_encoder(model)
    domains = [read_domain(file, documents, characters, queries) for file in data]
    names = [one.name for one in domains]
    settings = {"domains": names, "documents": documents, "characters": characters, "queries": queries}
    measure(f"lens-{names[0]}", {"mixture": lambda: measured_mixture(domains, encoder, work)}, settings, out)


def measured_mixture(domains: Sequence[Dataset], encoder: Encoder, work: Path) -> list[Measurement]:
    """The mean nDCG@10 of each way to search over all queries, and the paired differences of COMPARED."""
    parts = list(_of_parts(domains, encoder, work))
    scores = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    found = [Measurement(name, float(values.mean()), "nDCG@10 x 100") for name, values in scores.items()]
    for one, other in COMPARED:
        compared = compare(scores[one], scores[other])
        gains = [float((part[one] - part[other]).mean()) for part in parts]
        detail = {**asdict(compared), "domains": dict(zip([domain.name for domain in domains], gains, strict=True))}
        found.append(Measurement(f"{one} - {other}", compared.difference, "points", detail=detail))
    return found


def _of_parts(domains: Sequence[Dataset], encoder: Encoder, work: Path) -> Iterator[Mapping[str, Scores]]:
    """For each domain, the nDCG@10 of its queries by each way to search."""
    ids = tuple(name for domain in domains for name in domain.ids)
    texts = tuple(text for domain in domains for text in domain.texts)
    asked = {f"{domain.name} {name}": text for domain in domains for name, text in domain.queries.items()}
    whole = _space(Dataset("mixture", Path(), ids, texts, asked, {}, ()), encoder, work)
    query, text = 0, 0
    for domain in domains:
        queries = slice(query, query + len(domain.queries))
        rows = slice(text, text + len(domain.ids))
        query, text = queries.stop, rows.stop
        filtered, own = whole.part(queries, rows), _space(domain, encoder, work)
        best = [row[np.argsort(-FUSION.scores(some), kind="stable")[:RESCORED]] for row, some in filtered.among()]
        with_words = Space(own.cosines, filtered.words, own.null)
        yield {
            "whole": _score(replace(domain, ids=ids), whole.part(queries, slice(None)).among()),
            "filter": _score(domain, filtered.among()),
            "lens": _score(domain, own.among(best)),
            "lens, vectors alone": _score(domain, with_words.among(best)),
        }


def _space(dataset: Dataset, encoder: Encoder, work: Path) -> Space:
    queries, texts = vectors_in(corpus_context(encoder, dataset, SEED, work), dataset, encoder, work)
    sample = np.random.default_rng(SEED).permutation(len(texts))[:NULL_SIZE]
    return Space(queries @ texts.T, bm25_scores(stemmed(dataset), K1, B), queries @ texts[sample].T)


def _score(dataset: Dataset, candidates: Sequence[tuple[Rows, Candidates]]) -> Scores:
    run = run_of(dataset, candidates, FUSION, CUTOFF)
    return measure_run(dataset.judgements, run, [MEASURE])[MEASURE]
