"""Add other spellings of a query's words, so that "resume" finds "résumé".

Full text stems a word before it removes accents. The stem of "resume" is "resum", but "résumé" stays as it is, because
the stemmer does not take an é for a vowel.
"""

import re
import unicodedata

_WORD = re.compile(r"[^\W\d_]*(?:e|é)s?\b", re.IGNORECASE)
# The stemmer's rules for a last e: it is removed after two pairs of vowels and consonants, and after one pair unless
# the syllable before it is short, as in "hope".
_PAIR = re.compile(r"[^aeiouy]*[aeiouy]+[^aeiouy]")
_SHORT_SYLLABLE = re.compile(r"(?:.*[^aeiouy])?[aeiouy][^aeiouywx]")


def with_other_spellings(query: str) -> str:
    """Return a query followed by the words that full text would otherwise take for others."""
    others = [spelling for match in _WORD.finditer(query) if (spelling := _other_spelling(match[0].lower()))]
    return " ".join([query, *others])


def _other_spelling(word: str) -> str | None:
    """Return the word in the singular with the other last vowel if the stemmer would remove its e, otherwise None."""
    singular = word.removesuffix("s")
    stem = without_accents(singular[:-1])
    pair = _PAIR.match(stem)
    if pair is None or (not _PAIR.match(stem, pair.end()) and _SHORT_SYLLABLE.fullmatch(stem)):
        return None
    return f"{stem}é" if singular.endswith("e") else f"{stem}e"


def without_accents(word: str) -> str:
    """Return a word without accents."""
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(character for character in decomposed if not unicodedata.combining(character))
