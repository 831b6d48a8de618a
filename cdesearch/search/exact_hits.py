"""Add the evidence of exact terms to the BM25 scores of a lexical search."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cdesearch.search.exact import ExactTerm, exact_evidence
from cdesearch.search.fusion import Scores

if TYPE_CHECKING:
    import pyarrow as pa

MAX_EXACT = 500  # chunks with all words of a term that are read to look for the term itself


@dataclass(frozen=True, slots=True)
class ExactHits:
    """The n chunks that contain a term as a whole."""

    table: "pa.Table"  # (n rows) with `_rowid`, the BM25 score of the whole query, and the columns of the search
    evidence: Scores  # (n,) to add to the BM25 scores


def exact_hits(found: "pa.Table", term: ExactTerm, n_chunks: int) -> ExactHits:
    """Return those chunks that contain a term, of chunks with all words of the term and the columns text and place."""
    import pyarrow as pa

    texts = zip(found["text"].to_pylist(), found["place"].to_pylist(), strict=True)
    starts = [(text, json.loads(place)["body_start"]) for text, place in texts]
    bodies = [(text[:start], text[start:]) for text, start in starts]
    evidence = np.array(exact_evidence(term, bodies, n_chunks))
    kept = np.array([term.count(text) > 0 for text, _ in starts], bool)
    return ExactHits(found.drop_columns(["text", "place"]).filter(pa.array(kept)), evidence[kept])


def with_exact(found: "pa.Table", exact: Sequence[ExactHits], limit: int, *, only_exact: bool) -> "pa.Table":
    """Return the `limit` chunks with the highest sums of BM25 and evidence, best first.

    With `only_exact`, a chunk without any of the terms is left out.
    """
    import pyarrow as pa

    tables = [one.table.select(found.column_names) for one in exact]
    every = pa.concat_tables(tables if only_exact else [found, *tables])
    rows, first, members = np.unique(every["_rowid"].to_numpy(), return_index=True, return_inverse=True)
    scores = np.zeros(len(rows))
    np.maximum.at(scores, members, every["_score"].to_numpy())
    for one in exact:
        scores[np.searchsorted(rows, one.table["_rowid"].to_numpy())] += one.evidence
    best = np.lexsort((rows, -scores))[:limit]
    kept = every.take(pa.array(first[best]))
    at = kept.column_names.index("_score")
    return kept.set_column(at, "_score", pa.array(scores[best], every["_score"].type))
