"""The languages of a corpus, what a model does not read of it, and the full-text search that fits it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from cdesearch.languages.detection import language_of
from cdesearch.languages.known import ENGLISH, LANGUAGES, names_of
from cdesearch.languages.stop_words import STOP_WORDS

Shares = Mapping[str, float]  # of the chunks of a corpus, by the code of their language; the others have no language
LEAST_SHARE = 0.01  # of the chunks; fewer may be tables or programs that were taken for another language


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """Return the share of the texts in each language, the most frequent one first."""
    found = Counter(map(language_of, texts))
    total = max(found.total(), 1)
    return _sorted({code: n / total for code, n in found.items() if code is not None})


def joined_shares(parts: Iterable[tuple[Shares, int]]) -> dict[str, float]:
    """Return the shares of several parts of a corpus together, each with its number of chunks."""
    sums: dict[str, float] = {}
    total = 0
    for shares, n_chunks in parts:
        total += n_chunks
        for code, share in shares.items():
            sums[code] = sums.get(code, 0.0) + share * n_chunks
    return _sorted({code: amount / max(total, 1) for code, amount in sums.items()})


def unread(shares: Shares, model: Collection[str]) -> dict[str, float]:
    """Return the shares of the languages that a model does not read; empty if its languages are unknown."""
    return {code: share for code, share in shares.items() if model and code not in model}


def text_language(shares: Shares) -> str:
    """Return the code of the language whose stemmer and stop words fit a corpus best.

    It is the most frequent language that has a stemmer. Full text has one stemmer for all words, and that of another
    language leaves most words of a text alone. A smaller part in another language does not change the choice.
    """
    stemmed = {code: share for code, share in shares.items() if LANGUAGES[code].stemmer is not None}
    return max(stemmed, key=lambda code: (stemmed[code], code == ENGLISH), default=ENGLISH)


def ignored_words(language: str) -> frozenset[str]:
    """Return the stop words of full text in a corpus whose text language is `language`."""
    return STOP_WORDS.get(language, frozenset())


def described(shares: Shares) -> str:
    """Describe shares for people, such as "90% German, 10% English"."""
    return ", ".join(f"{percentage(share)} {names_of([code])}" for code, share in shares.items())


def percentage(share: float) -> str:
    """A share in whole percent; "over 99%" if it would be rounded to all."""
    return "over 99%" if 0.995 <= share < 1 else f"{100 * share:.0f}%"


def _sorted(shares: dict[str, float]) -> dict[str, float]:
    order = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    # Only a language of all chunks has the share 1.
    return {code: min(round(share, 4), 1.0 if share == 1 else 0.9999) for code, share in order if share >= LEAST_SHARE}
