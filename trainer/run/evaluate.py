"""Evaluate a model by nDCG@10 on BEIR folders, with true, random and null context."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cdesearch.context.context import Context
from cdesearch.encode.corpus_context import context_of_texts
from cdesearch.encode.encoder import Encoder
from trainer.data.pairs.beir import BeirFolder, read_beir


def ndcg_at_10(ranking: Sequence[str], relevant: Mapping[str, int]) -> float:
    """nDCG@10 of one query with grades as gains, as trec_eval and BEIR compute it; 0 without a relevant document."""
    gains = [relevant.get(document, 0) / math.log2(rank + 2) for rank, document in enumerate(ranking[:10])]
    best = sorted(relevant.values(), reverse=True)[:10]
    ideal = sum(grade / math.log2(rank + 2) for rank, grade in enumerate(best))
    return sum(gains) / ideal if ideal else 0.0


def mean_ndcg(encoder: Encoder, folder: BeirFolder, context: Context | None) -> float:
    """The mean nDCG@10 of all queries. Documents and queries are encoded in `context`; a query's own id is left out."""
    documents = encoder.encode(folder.texts, "document", context)
    queries = encoder.encode(list(folder.queries.values()), "query", context)
    values = []
    for name, vector in zip(folder.queries, queries, strict=True):
        best = np.argsort(-(documents @ vector), kind="stable")[:11]
        ranking = [folder.ids[row] for row in best if folder.ids[row] != name]
        values.append(ndcg_at_10(ranking, folder.judgements[name]))
    return float(np.mean(values))


def evaluate(
    encoder: Encoder, folders: Sequence[Path], out_of_domain_texts: Sequence[str], seed: int
) -> dict[str, dict[str, float]]:
    """nDCG@10 of each BEIR folder with its own context, with a context of `out_of_domain_texts`, and without context.

    Raises SourceError.
    """
    other = context_of_texts(encoder, out_of_domain_texts, encoder.context_size, seed)
    table = {}
    for path in folders:
        folder = read_beir(path)
        own = context_of_texts(encoder, folder.texts, encoder.context_size, seed)
        contexts = {"true": own, "random": other, "null": None}
        table[folder.name] = {kind: mean_ndcg(encoder, folder, context) for kind, context in contexts.items()}
    return table
