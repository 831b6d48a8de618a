"""Whether passages hold enough evidence to answer a question."""

from collections.abc import Sequence

from cdesearch.answer.extract import CorpusView
from cdesearch.search.passages import Passage


def is_answered(question: str, passages: Sequence[Passage], corpus: CorpusView) -> bool:
    """Whether an answer can be expected from the passages."""
    return bool(passages)
