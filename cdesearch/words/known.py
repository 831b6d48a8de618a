"""The languages that are told apart: their names, scripts and stemmers."""

import re
from dataclasses import dataclass

ENGLISH, ARABIC = "en", "ar"
MOST_LANGUAGES = 1_000  # of a model
LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "fa": "Persian", "fi": "Finnish", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ka": "Georgian", "km": "Khmer", "ko": "Korean", "lo": "Lao",
    "my": "Burmese", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sk": "Slovak", "sr": "Serbian", "sv": "Swedish", "ta": "Tamil", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
# The others have a Snowball stemmer, by their names.
WITHOUT_STEMMER = {"bg", "he", "hr", "ja", "ka", "km", "ko", "lo", "my", "sk", "th", "uk", "vi", "zh"}


@dataclass(frozen=True, slots=True)
class Script:
    """A script, with the languages that are written in it, the most frequent one first."""

    letters: re.Pattern[str]  # a run of its letters
    languages: tuple[str, ...]
    word_letters: float  # the number of letters of an average word


def _script(letters: str, languages: str, word_letters: float = 5) -> Script:
    return Script(re.compile(f"[{letters}]+"), tuple(languages.split()), word_letters)


LATIN = _script(
    "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff",
    "en de fr es pt it nl sv da no fi hu ro tr pl cs sk hr ca id vi",
)
HAN = _script("\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff", "zh ja", 2)
KANA = _script("\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f", "ja", 3)
SCRIPTS = (
    LATIN,
    HAN,
    KANA,
    _script("\u0400-\u052f", "ru uk bg sr"),
    _script("\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc", "ar fa"),
    _script("\u0370-\u03ff\u1f00-\u1fff", "el"),
    _script("\uac00-\ud7af\u1100-\u11ff\u3130-\u318f", "ko", 3),
    _script("\u0e00-\u0e7f", "th"),
    _script("\u0590-\u05ff", "he"),
    _script("\u0900-\u097f", "hi"),
    _script("\u0b80-\u0bff", "ta"),
    _script("\u0e80-\u0eff", "lo"),
    _script("\u1000-\u109f", "my"),
    _script("\u1780-\u17ff", "km"),
    _script("\u0530-\u058f", "hy"),
    _script("\u10a0-\u10ff", "ka"),
)


def names_of(codes: list[str]) -> str:
    """The names of languages in a sentence, such as "German, Japanese and Russian"; unknown codes as they are."""
    names = [LANGUAGES.get(code, code) for code in codes]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
