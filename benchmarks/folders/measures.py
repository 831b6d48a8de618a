"""Ranks of the right passage and the right file, and the tokens that are read until the answer."""

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.folders.questions import Question
from cdesearch.store.schema import Chunk

DEPTH = 10


def measure_question(question: Question, found: Sequence[Chunk], tokens: Callable[[str], int]) -> dict[str, float]:
    """The measures of one question, shares x 100. Of `found`, best first, only the DEPTH best count.

    If no passage answers, the tokens read are those of all passages.
    """
    found = found[:DEPTH]
    right = [any(answer.is_in(chunk) for answer in question.answers) for chunk in found]
    rank = right.index(True) + 1 if any(right) else None
    paths = {answer.path for answer in question.answers}
    files = list(dict.fromkeys(chunk.path for chunk in found))
    measured = {f"passage@{k}": 100.0 * (rank is not None and rank <= k) for k in (1, 3, 10)}
    measured["MRR@10"] = 0.0 if rank is None else 100 / rank
    measured |= {f"file@{k}": 100.0 * any(path in paths for path in files[:k]) for k in (1, 3)}
    measured["tokens"] = float(sum(tokens(chunk.text) for chunk in found[:rank]))
    return measured


def means(measured: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each measure over questions."""
    return {name: float(np.mean([one[name] for one in measured])) for name in measured[0]}
