"""The language of a text, and the languages of a corpus.

That of a text follows from its script, and among languages of one script from their function words.

A library would be more accurate for a few words, which decide nothing here; see benchmarks/results/LOG.md.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from cdesearch.words.known import ENGLISH, HAN, KANA, LATIN, SCRIPTS, Script, names_of
from cdesearch.words.stop_words import STOP_WORDS

MIN_WORDS = 3.0  # of the main script; a text with fewer has no language
# For a language in Latin letters: the least number of its function words, of different ones in a longer text, and their
# least share of all words, because a table, a formula or a program contains a few words that look like function words.
MIN_EVIDENCE, MIN_DIFFERENT, MIN_SHARE = 2.0, 3, 0.08
LONGER = 25.0  # words of a text
KANA_SHARE = 0.1  # of Han and kana together, from which on a text is Japanese
LEAST_SHARE = 0.01  # of the chunks; fewer may be tables or programs that were taken for another language

Shares = Mapping[str, float]  # of the chunks of a corpus, by the code of their language; the others have no language

_WORD = re.compile(r"[^\W\d_]{2,}")
_ASCII = re.compile(r"[\x00-\x7f]+")


def language_of(text: str) -> str | None:
    """The code of the language in which most of a text is written; None if there are too few words of any."""
    by_script = words_by_script(text)
    script, amount = max(by_script.items(), key=lambda item: item[1], default=(LATIN, 0.0))
    if amount < MIN_WORDS:
        return None
    if script in (HAN, KANA):
        kana = by_script.get(KANA, 0.0)
        return "ja" if kana > KANA_SHARE * (by_script.get(HAN, 0.0) + kana) else "zh"
    if len(script.languages) == 1:
        return script.languages[0]
    words = _count_words(text)
    evidence = _evidence(words, frozenset(script.languages))
    code, most = max(evidence.items(), key=lambda item: item[1], default=(None, 0.0))
    if script is LATIN:
        is_clear = code is not None and (amount < LONGER or len(words.keys() & STOP_WORDS[code]) >= MIN_DIFFERENT)
        return code if is_clear and most >= max(MIN_EVIDENCE, MIN_SHARE * amount) else None
    return code or script.languages[0]


def words_by_script(text: str) -> dict[Script, float]:
    """How many words a text has in each script, estimated from its letters."""
    other = _ASCII.sub("", text)
    parts = [(LATIN, text), *((script, other) for script in SCRIPTS if other and script is not LATIN)]
    return {one: n / one.word_letters for one, part in parts if (n := len("".join(one.letters.findall(part))))}


def function_words(text: str, among: Iterable[str]) -> dict[str, float]:
    """How many function words of each language `among` a text has.

    A word that several of these languages share counts in equal parts for each.
    """
    return _evidence(_count_words(text), frozenset(among))


def _count_words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(unicodedata.normalize("NFC", text.lower())))


def _evidence(words: Mapping[str, int], among: frozenset[str]) -> dict[str, float]:
    languages_of, found = _languages_among(among), dict[str, float]()
    for word, count in words.items():
        languages = languages_of.get(word, ())
        for code in languages:
            found[code] = found.get(code, 0.0) + count / len(languages)
    return found


@lru_cache(maxsize=16)
def _languages_among(among: frozenset[str]) -> dict[str, list[str]]:
    """The languages of each function word, of two letters or more, of the languages `among`."""
    found: dict[str, list[str]] = {}
    for code, words in STOP_WORDS.items():
        for word in words if code in among else ():
            if len(word) > 1:
                found.setdefault(word, []).append(code)
    return found


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """The share of the texts in each language, the most frequent one first."""
    found = Counter(map(language_of, texts))
    total = max(found.total(), 1)
    return _sorted({code: n / total for code, n in found.items() if code is not None})


def joined_shares(parts: Iterable[tuple[Shares, int]]) -> dict[str, float]:
    """The shares of several parts of a corpus together, each with its number of chunks."""
    sums: dict[str, float] = {}
    total = 0
    for shares, n_chunks in parts:
        total += n_chunks
        for code, share in shares.items():
            sums[code] = sums.get(code, 0.0) + share * n_chunks
    return _sorted({code: amount / max(total, 1) for code, amount in sums.items()})


def unread(shares: Shares, model: Collection[str]) -> dict[str, float]:
    """The shares of the languages that a model does not read; empty if its languages are unknown."""
    return {code: share for code, share in shares.items() if model and code not in model}


def main_language(shares: Shares) -> str:
    """The code of the most frequent language; English if no language is known."""
    return max(shares, key=lambda code: (shares[code], code == ENGLISH), default=ENGLISH)


def ignored_words(language: str) -> frozenset[str]:
    """The function words of a language, which full text ignores."""
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
