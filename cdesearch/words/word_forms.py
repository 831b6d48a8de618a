"""Forms and spellings of words: a simple rule for whether two words are forms of one, and what queries need besides.

The rule serves to highlight and count words. Full text compares stems, which differ from this rule in rare cases. The
web page implements the same rule in JavaScript. Texts in scripts without spaces are divided into pieces.
"""

import re
import unicodedata
from collections.abc import Iterator

SHINGLE = 5  # the number of words of a shingle
STEM = 4  # the minimum number of letters that two forms of a word have in common

# Scripts without spaces between words, in which a word of a query is found by its pieces: two letters of Chinese or
# Japanese, and four of Thai, Khmer, Lao or Burmese, which also have vowels as marks.
_TWO = r"[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
_FOUR = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
UNSPACED = re.compile(f"{_TWO}|{_FOUR}")
_HIRAGANA = re.compile(r"[\u3040-\u309f]+")  # mostly endings and particles
_DIGIT = re.compile(r"\d")
_ARTICLE = re.compile(r"^[وفبك]?ال(?=\w\w)")  # of Arabic, written together with the noun
_WITH_E = re.compile(r"[^\W\d_]*(?:e|é)s?\b", re.IGNORECASE)
# The stemmer's rules for a last e: it is removed after two pairs of vowels and consonants, and after one pair unless
# the syllable before it is short, as in "hope".
_PAIR = re.compile(r"[^aeiouy]*[aeiouy]+[^aeiouy]")
_SHORT_SYLLABLE = re.compile(r"(?:.*[^aeiouy])?[aeiouy][^aeiouywx]")
_ARABIC = re.compile(r"[\u0621-\u064a]{3,}")
_PREFIXES = ("", "ال", "وال", "فال")  # none, "the", "and the", "so the"


def word_stem(word: str) -> str:
    """The letters with which every form of a word must begin: all but the last three, but at least STEM.

    A word with a digit has no other forms: `rfc2616` is not `rfc2612`.
    """
    return word if _DIGIT.search(word) else word[: max(STEM, len(word) - 3)]


def is_form_of(token: str, word: str) -> bool:
    """Whether `token` is a form of `word`. Both must be in lower case and without accents."""
    token, word = without_article(token), without_article(word)
    if len(word) < STEM:
        return token == word or (len(word) == STEM - 1 and token == f"{word}s")
    return token.startswith(word_stem(word))


def without_article(word: str) -> str:
    """An Arabic word without the article; others as they are."""
    return word if word.isascii() else _ARTICLE.sub("", word)


def pieces(text: str) -> list[str]:
    """The pieces of the words of a text in scripts without spaces, in lower case.

    Pieces of hiragana alone are left out if there are others.
    """
    found = []
    for run in UNSPACED.findall(text.lower()):
        size = min(len(run), 2 if re.match(_TWO, run) else 4)
        found += [run[at : at + size] for at in range(len(run) - size + 1)]
    return [piece for piece in found if not _HIRAGANA.fullmatch(piece)] or found


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


def with_other_spellings(query: str) -> str:
    """A query followed by other spellings of its words, so that "resume" finds "résumé".

    Full text stems a word before it removes accents. The stem of "resume" is "resum", but "résumé" stays as it is,
    because the stemmer does not take an é for a vowel.
    """
    others = [spelling for match in _WITH_E.finditer(query) if (spelling := _other_spelling(match[0].lower()))]
    return " ".join([query, *others])


def _other_spelling(word: str) -> str | None:
    """The word in the singular with the other last vowel if the stemmer would remove its e, otherwise None."""
    singular = word.removesuffix("s")
    stem = without_accents(singular[:-1])
    pair = _PAIR.match(stem)
    if pair is None or (not _PAIR.match(stem, pair.end()) and _SHORT_SYLLABLE.fullmatch(stem)):
        return None
    return f"{stem}é" if singular.endswith("e") else f"{stem}e"


def without_accents(word: str) -> str:
    """A word without accents."""
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def with_arabic_forms(query: str) -> str:
    """A query followed by the forms of its Arabic words with and without an article: "ملفات" finds "والملفات".

    Arabic writes conjunctions, prepositions and the article together with the noun. The stemmer of full text removes
    one of them, but not the two of "and the" and "so the", and some plurals have another stem with the article.
    """
    added = []
    for word in _ARABIC.findall(query):
        noun = without_article(word)
        added += [form for prefix in _PREFIXES if (form := prefix + noun) != word]
    return " ".join([query, *added])


def shingles_of(text: str) -> frozenset[tuple[str, ...]]:
    """The shingles of a text, which are runs of words, in lower case. A text of fewer words is one of them."""
    words = re.findall(r"\w+", text.lower()) or [text]
    return frozenset(tuple(words[start : start + SHINGLE]) for start in range(max(1, len(words) - SHINGLE + 1)))
