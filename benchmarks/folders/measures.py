"""Ranks of the right passage and the right file, and the tokens that are read until the answer."""

from collections.abc import Callable, Sequence

from benchmarks.folders.questions import Passage, Question
from indexer.documents.chunk import CHUNK_TOKENS

DEPTH = 10
MOST_TOKENS = DEPTH * CHUNK_TOKENS


def measure_question(question: Question, found: Sequence[Passage], tokens: Callable[[str], int]) -> dict[str, float]:
    """The measures of one question, shares x 100. Of `found`, best first, only the DEPTH best count.

    The tokens are those of all passages up to the first that answers, at most MOST_TOKENS. If none answers, they are
    MOST_TOKENS, so that a system which finds nothing does not seem quick to read.
    """
    found = found[:DEPTH]
    right = [any(answer.is_in(passage.path, passage.text) for answer in question.answers) for passage in found]
    rank = right.index(True) + 1 if any(right) else None
    paths = {answer.path for answer in question.answers}
    files = list(dict.fromkeys(passage.path for passage in found))
    measured = {f"passage@{k}": 100.0 * (rank is not None and rank <= k) for k in (1, 3, 10)}
    measured["MRR@10"] = 0.0 if rank is None else 100 / rank
    measured |= {f"file@{k}": 100.0 * any(path in paths for path in files[:k]) for k in (1, 3)}
    read = sum(tokens(passage.text) for passage in found[:rank])
    measured["tokens"] = float(MOST_TOKENS if rank is None else min(read, MOST_TOKENS))
    return measured
