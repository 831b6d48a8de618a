"""The figure about queries that find other queries as their number grows (pplx-embed, tables 6 and 7)."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.figures.figure import Drawing
from benchmarks.figures.storage import stored_as
from benchmarks.quality.measures import measure_run
from benchmarks.systems.contextual import Contextual
from benchmarks.systems.vectors import nearest
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import InputError
from trainer.data.pairs.reading import domain_files, read_pairs

ASKING = 2_000  # queries that ask
GROWTH = 10**0.5  # from one pool to the next: 47,000, 150,000 and 465,000 in the paper's manner
FORMS = ("float32", "int8", "binary documents")
MEASURES = ("R@10", "R@20", "R@100")


def query_growth(sources: Sequence[Path], encoder: Encoder, work: Path) -> Drawing:
    """How many of the other queries of the same document a query finds, by the number of queries in the pool.

    The first query of a document asks, and its others are the answers. The smallest pool holds all answers, and larger
    ones queries of other documents in addition. Raises InputError if no document has two queries.
    """
    asking, pool = _asking_and_pool(sources)
    series: dict[str, list[tuple[float, float]]] = {}
    for size in pool_sizes(sum(map(len, asking.values())), len(pool)):
        dataset = _pool_of(asking, pool[:size])
        for kind, name in (("null", "plain"), ("true", "contextual")):
            embedded = Contextual(encoder, work, kind).vectors(dataset)
            for form in FORMS if kind == "true" else FORMS[:1]:
                run = nearest(dataset, *stored_as(*embedded, form))
                for measure, values in measure_run(dataset.judgements, run, MEASURES).items():
                    series.setdefault(f"{name}, {form}, {measure}", []).append((float(size), float(values.mean())))
    title = f"{len(asking):,} queries look for other queries of the same document"
    return Drawing("growth", title, "queries in the pool", "recall x 100", series, log_x=True)


def pool_sizes(n_answers: int, n_queries: int) -> list[int]:
    """The sizes of pools from all answers to all queries."""
    sizes = [float(n_answers)]
    while sizes[-1] * GROWTH < n_queries:
        sizes.append(sizes[-1] * GROWTH)
    return sorted({*map(round, sizes), n_queries})


def _asking_and_pool(sources: Sequence[Path]) -> tuple[dict[str, list[str]], list[str]]:
    """The answers of each query that asks, and the queries of the pool, those answers first."""
    by_document: dict[str, dict[str, None]] = {}
    for pair in chain.from_iterable(map(read_pairs, domain_files(sources))):
        by_document.setdefault(pair.document, {})[pair.query] = None
    random = np.random.default_rng(0)
    several = [list(queries) for queries in by_document.values() if len(queries) > 1]
    chosen = [several[row] for row in random.permutation(len(several))[:ASKING]]
    asking = {queries[0]: queries[1:] for queries in chosen}
    if not asking:
        raise InputError("No document of these pairs has two queries.", "Name pair files in which some have.")
    answers = dict.fromkeys(chain.from_iterable(asking.values()))
    others = dict.fromkeys(chain.from_iterable(by_document.values()))
    rest = [query for query in others if query not in answers and query not in asking]
    return asking, [*answers, *(rest[row] for row in random.permutation(len(rest)))]


def _pool_of(asking: dict[str, list[str]], pool: Sequence[str]) -> Dataset:
    ids = {query: f"pool-{row}" for row, query in enumerate(pool)}
    judgements = {query: {ids[answer]: 1 for answer in answers} for query, answers in asking.items()}
    return Dataset(
        "queries", Path(), tuple(ids.values()), tuple(pool), {query: query for query in asking}, judgements, ()
    )
