"""The languages of the chunks that a build has read, and the vocabulary for a language that joins words."""

import re
from collections import Counter
from itertools import chain

from cdesearch.store.manifest import Manifest
from cdesearch.words.compounds import LEAST_PART, Vocabulary
from cdesearch.words.detection import joined_shares, language_shares
from indexer.embedding.spool import Spool

MAX_SAMPLED = 1_000  # chunks whose language is detected, which takes about a tenth of a second

MOST_WORDS, MOST_LETTERS = 200_000, 64
FREQUENT_SHARE, LEAST_FREQUENT = 0.01, 5  # of the chunks, and chunks, from which on a word is frequent
_WORD = re.compile(rf"[^\W\d_]{{{LEAST_PART},{MOST_LETTERS}}}")


def corpus_languages(spool: Spool, base: Manifest | None, n_kept: int) -> dict[str, float]:
    """The shares of the spooled chunks in each language, and of the `n_kept` chunks of the base that stay."""
    n_chunks = spool.count()
    step = max(1, -(-n_chunks // MAX_SAMPLED))  # of every so many chunks of a window, one is sampled
    texts = chain.from_iterable(window["text"].to_pylist()[::step] for window in spool.windows(["text"]))
    fresh = language_shares(texts)
    return fresh if base is None else joined_shares([(base.languages, n_kept), (fresh, n_chunks)])


def vocabulary_of(chunks: Spool, base: Vocabulary | None = None) -> Vocabulary:
    """Count the words of the chunks. Those that `base` does not have are added to its words as the rarest ones."""
    n_with: Counter[str] = Counter()  # chunks by word
    for window in chunks.windows(["text"]):
        for text in window["text"].to_pylist():
            n_with.update(set(_WORD.findall(text.lower())))
    by_frequency = sorted(n_with, key=lambda word: (-n_with[word], word))
    if base is not None:
        known = frozenset(base.words)
        fresh = [word for word in by_frequency if word not in known]
        return Vocabulary((*base.words, *fresh)[:MOST_WORDS], base.n_frequent)
    words = by_frequency[:MOST_WORDS]
    least = max(LEAST_FREQUENT, FREQUENT_SHARE * chunks.count())
    return Vocabulary(tuple(words), sum(n_with[word] > least for word in words))
