"""The rule by which words of a query are marked and counted in a text: whether two words are forms of one.

It is simpler than the analyzer, by which full text finds them, and the web page implements the same rule in JavaScript.
Texts in scripts without spaces are divided into pieces.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from cdesearch.words.scripts import HIRAGANA, LETTER, UNSPACED, grams, without_article

SHINGLE = 5  # the number of words of a shingle
STEM = 4  # the minimum number of letters that two forms of a word have in common

TOKEN = re.compile(f"{LETTER}+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")  # most texts have few other letters
_DIGIT = re.compile(r"\d")
_ADVERB = re.compile(r"\w\w(?:out|up|off)s?$")  # the second part of an English noun


def word_stem(word: str) -> str:
    """The letters with which every form of a word must begin: all but the last three, but at least STEM.

    A word with a digit has no other forms: `rfc2616` is not `rfc2612`. Nor is `time` a form of `timeout`.
    """
    if _ADVERB.search(word):
        return word.removesuffix("s")
    return word if _DIGIT.search(word) else word[: max(STEM, len(word) - 3)]


def pieces(text: str) -> list[str]:
    """The pieces of the words of a text in scripts without spaces, in lower case.

    Pieces of hiragana alone are left out if there are others.
    """
    found = [piece for run in UNSPACED.findall(text.lower()) for piece in grams(run, is_query=True)]
    return [piece for piece in found if not HIRAGANA.fullmatch(piece)] or found


def piece_spans(text: str, words: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each part of a text that consists of pieces among `words`."""
    chosen = [word for word in dict.fromkeys(words) if UNSPACED.fullmatch(word)]
    if not chosen:
        return
    lowered, covered = text.lower(), set[int]()
    for piece in chosen:
        at = lowered.find(piece)
        while at >= 0:
            covered.update(range(at, at + len(piece)))
            at = lowered.find(piece, at + 1)
    start = None
    for at in range(len(text) + 1):
        if at in covered and start is None:
            start = at
        elif at not in covered and start is not None:
            yield start, at
            start = None


def word_spans(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each word of a text that begins with one of the stems `words`."""
    spans = [*piece_spans(text, [*words])]
    spaced = UNSPACED.sub(lambda run: " " * len(run[0]), text)
    stems = tuple(words)
    tokens = TOKEN.finditer(spaced)
    spans += [token.span() for token in tokens if without_article(folded(token[0])).startswith(stems)]
    yield from sorted(spans)


def folded(text: str) -> str:
    """A text in lower case and without accents, with which full text compares words."""
    lower = text.lower()
    if lower.isascii():
        return lower
    lower = unicodedata.normalize("NFC", lower)  # in these scripts, other marks than accents belong to the letters
    runs = zip(UNSPACED.split(lower), [*UNSPACED.findall(lower), ""], strict=True)
    return unicodedata.normalize("NFC", "".join(without_accents(spaced) + run for spaced, run in runs))


def without_accents(word: str) -> str:
    """A word without accents."""
    return _NOT_ASCII.sub(lambda run: _without_marks(run[0]), word)


@lru_cache(maxsize=1_000)
def _without_marks(run: str) -> str:
    decomposed = unicodedata.normalize("NFD", run)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def shingles_of(text: str) -> frozenset[tuple[str, ...]]:
    """The shingles of a text, which are runs of words, in lower case. A text of fewer words is one of them."""
    words = re.findall(r"\w+", text.lower()) or [text]
    return frozenset(tuple(words[start : start + SHINGLE]) for start in range(max(1, len(words) - SHINGLE + 1)))
