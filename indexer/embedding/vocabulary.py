"""The vocabulary of the chunks that a build has read, for a language that joins words."""

import re
from collections import Counter

from cdesearch.languages.compounds import LEAST_PART, Vocabulary
from indexer.embedding.spool import Chunks

MOST_WORDS, MOST_LETTERS = 200_000, 64
FREQUENT_SHARE, LEAST_FREQUENT = 0.01, 5  # of the chunks, and chunks, from which on a word is frequent
MOST_COUNTED = 5 * MOST_WORDS  # different words; with more, the rarest are forgotten
_WORD = re.compile(rf"[^\W\d_]{{{LEAST_PART},{MOST_LETTERS}}}")


def vocabulary_of(chunks: Chunks, base: Vocabulary | None = None) -> Vocabulary:
    """Count the words of the chunks. Those that `base` does not have are added to its words as the rarest ones."""
    n_with: Counter[str] = Counter()  # chunks by word
    for window in chunks.windows(["text"]):
        for text in window["text"].to_pylist():
            n_with.update(set(_WORD.findall(text.lower())))
        if len(n_with) > MOST_COUNTED:
            n_with = Counter({word: n_with[word] for word in _by_frequency(n_with)[:MOST_WORDS]})
    if base is not None:
        known = frozenset(base.words)
        fresh = [word for word in _by_frequency(n_with) if word not in known]
        return Vocabulary((*base.words, *fresh)[:MOST_WORDS], base.n_frequent)
    words = _by_frequency(n_with)[:MOST_WORDS]
    least = max(LEAST_FREQUENT, FREQUENT_SHARE * chunks.count())
    return Vocabulary(tuple(words), sum(n_with[word] > least for word in words))


def _by_frequency(n_with: Counter[str]) -> list[str]:
    return sorted(n_with, key=lambda word: (-n_with[word], word))
