"""Is it getting better? nDCG@10 on BEIR folders and held-out losses, with true, random and null context."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cdesearch.context.context import Context
from cdesearch.context.vectors import Floats
from cdesearch.encode.corpus_context import context_of_texts
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import SourceError


def ndcg_at_10(ranking: Sequence[str], relevant: Mapping[str, int]) -> float:
    """Of one query, grades as gains, as trec_eval and BEIR have it; no relevant document gives 0."""
    gains = [relevant.get(document, 0) / math.log2(rank + 2) for rank, document in enumerate(ranking[:10])]
    best = sorted(relevant.values(), reverse=True)[:10]
    ideal = sum(grade / math.log2(rank + 2) for rank, grade in enumerate(best))
    return sum(gains) / ideal if ideal else 0.0


class EvaluationSet:
    """A BEIR folder in memory."""

    def __init__(self, folder: Path) -> None:
        try:
            rows, asked = (_json_lines(folder / name) for name in ("corpus.jsonl", "queries.jsonl"))
            judged = (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
            self.name = folder.name
            self.ids = [str(row["_id"]) for row in rows]
            self.texts = ["\n".join(part for part in (row.get("title", ""), row["text"]) if part) for row in rows]
            self.relevant: dict[str, dict[str, int]] = {}
            for query, document, grade in (line.split("\t") for line in judged if line):
                self.relevant.setdefault(query, {})[document] = int(grade)
            self.queries = {str(row["_id"]): row["text"] for row in asked if str(row["_id"]) in self.relevant}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{folder} is no BEIR folder ({error!r}).", "Check the recipe's `evaluate`.") from None

    def context(self, encoder: Encoder, seed: int) -> Context:
        """A context sampled from this corpus."""
        return context_of_texts(encoder, self.texts, encoder.context_size, seed)

    def ndcg(self, encoder: Encoder, context: Context | None) -> float:
        """Mean over the judged queries, documents and queries embedded in `context`; a query's own id is left out."""
        documents = encoder.encode(self.texts, "document", context)
        queries = encoder.encode(list(self.queries.values()), "query", context)
        return float(
            np.mean([self._one(name, documents @ vector) for name, vector in zip(self.queries, queries, strict=True)])
        )

    def _one(self, query: str, scores: Floats) -> float:
        best = np.argsort(-scores, kind="stable")[:11]
        return ndcg_at_10([self.ids[row] for row in best if self.ids[row] != query], self.relevant[query])


def _json_lines(file: Path) -> list[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def evaluate(
    encoder: Encoder, folders: Sequence[Path], out_of_domain_texts: Sequence[str], seed: int
) -> dict[str, dict[str, float]]:
    """nDCG@10 of each folder with its own context, with that of `out_of_domain_texts`, and with none."""
    foreign = context_of_texts(encoder, out_of_domain_texts, encoder.context_size, seed)
    table = {}
    for folder in folders:
        tested = EvaluationSet(folder)
        contexts = {"true": tested.context(encoder, seed), "random": foreign, "null": None}
        table[tested.name] = {name: tested.ndcg(encoder, context) for name, context in contexts.items()}
    return table
