"""The stem of a word in its language, without accents."""

import re
import unicodedata
from functools import cache
from typing import Any

from cdesearch.words.known import ENGLISH, LANGUAGES, WITHOUT_STEMMER

# Accents of Latin, Greek and Cyrillic letters, the points of Hebrew and the vowels of Arabic, which are seldom written,
# the stroke that lengthens Arabic words, and the dot below letters of Hindi. Other marks are parts of syllables.
_ACCENTS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u093c]+"
)
_LETTERS = str.maketrans({
    "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ς": "σ",
    "\u0901": "\u0902",
})  # fmt: skip
# English plurals, each with its singular form. A query for one of them finds the other as well.
_NUMBERS = """
    children child|men man|women woman|mice mouse|geese goose|feet foot|teeth tooth|wolves wolf|knives knife|wives wife
    |thieves thief|shelves shelf|loaves loaf|scarves scarf|calves calf|elves elf|halves half|matrices matrix
    |criteria criterion|phenomena phenomenon|bacteria bacterium|curricula curriculum
    |formulae formula|antennae antenna|larvae larva|nuclei nucleus|fungi fungus|cacti cactus|radii radius
    |stimuli stimulus|crises crisis|theses thesis
"""
# British stems with other letters than those of the American words
_SPELLINGS = """
    grey gray|greyscal grayscale|practis practice|mould mold|plough plow|sulphur sulfur|tyre tire|odour odor
    |artefact artifact|judgement judgment|sceptic skeptic|aluminium aluminum|defenc defense|offenc offense
    |licenc license|theatr theater|centr center|metr meter|kilometr kilometer|centimetr centimeter
    |millimetr millimeter|fibr fiber
"""
_FORMS = dict(map(str.split, _SPELLINGS.split("|")))
# What British stems end in, and American words in its place: colour, neighbourhood, catalogue, organise; also analyze
_ENDINGS = {"our": "or", "ogu": "og", "is": "ize", "yz": "yse"}
_BRITISH = (*_ENDINGS, "ourit", "ouri", "ourhood", "ourless")  # which are found faster than by the pattern alone
_ENDING = re.compile(r"(?<=\w{3})(?:our|ogu$|yz$)|(?<=\w{3}[^\Wv])(?<!parad)(?<!expert)(?<!advert)is$")
_NASAL = "\u0928\u094d"  # of Hindi, which is also written as a dot, as in the name of the language


def folded(word: str) -> str:
    """A word in lower case without accents."""
    if word.isascii():
        return word
    without = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", without).translate(_LETTERS).replace(_NASAL, "\u0902")


def stems(word: str, language: str) -> tuple[str, ...]:
    """The stem of a word in lower case, and for a word with accents also that of the word without them.

    Stemmers need the accents of their languages, but many people leave them out in queries. English words have none,
    but British and American ones have the same stem.
    """
    plain = folded(word)
    if language == ENGLISH or plain == word:
        return (_stem(plain, language),)
    return tuple(dict.fromkeys((folded(_stem(word, language)), folded(_stem(plain, language)))))


@cache
def other_numbers(word: str) -> tuple[str, ...]:
    """The stem of the plural of an English word, or of its singular, if that is irregular."""
    pairs = [[_stem(one, ENGLISH) for one in pair.split()] for pair in _NUMBERS.split("|")]
    stem = _stem(word, ENGLISH)
    return tuple(other for pair in pairs for other in pair if stem in pair and other != stem)


def _stem(word: str, language: str) -> str:
    stemmer = _stemmer(language)
    if stemmer is None or any(map(str.isdigit, word)):
        return word
    if language != ENGLISH:
        return str(stemmer.stemWord(word))
    stem = stemmer.stemWord(word)
    american = _FORMS.get(stem, stem)
    if stem.endswith(_BRITISH) and american == stem:
        american = _ENDING.sub(lambda found: _ENDINGS[found[0]], stem)
    return str(stem if american == stem else stemmer.stemWord(american))


@cache
def _stemmer(language: str) -> Any:
    """The Snowball stemmer of a language; None if there is none. It may be shared, because it holds the GIL."""
    import Stemmer

    has_none = language not in LANGUAGES or language in WITHOUT_STEMMER
    return None if has_none else Stemmer.Stemmer(LANGUAGES[language].lower())
