"""The language of a text: by its script, and among languages of one script by their function words.

A library would be more accurate for a few words, which decide nothing here; see benchmarks/results/LOG.md.
"""

import re
import unicodedata
from collections.abc import Iterable

from cdesearch.languages.known import HAN, KANA, LATIN, SCRIPTS, Script
from cdesearch.languages.stop_words import STOP_WORDS

MIN_WORDS = 3.0  # of the main script; a text with fewer has no language
# For a language in Latin letters: the least number of its function words, and their least share of all words, because
# a table or a program contains a few words that look like function words of some language.
MIN_EVIDENCE, MIN_SHARE = 2.0, 0.08
KANA_SHARE = 0.1  # of Han and kana together, from which on a text is Japanese

_WORD = re.compile(r"[^\W\d_]{2,}")
_LANGUAGES_OF: dict[str, tuple[str, ...]] = {}  # of each function word with two letters or more
for _code, _words in STOP_WORDS.items():
    for _word in _words:
        if len(_word) > 1:
            _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _code)


def language_of(text: str) -> str | None:
    """Return the code of the language in which most of a text is written; None if there are too few words of any."""
    words = words_by_script(text)
    script, amount = max(words.items(), key=lambda item: item[1], default=(LATIN, 0.0))
    if amount < MIN_WORDS:
        return None
    if script in (HAN, KANA):
        kana = words.get(KANA, 0.0)
        return "ja" if kana > KANA_SHARE * (words.get(HAN, 0.0) + kana) else "zh"
    if len(script.languages) == 1:
        return script.languages[0]
    code, evidence = max(function_words(text, script.languages).items(), key=lambda item: item[1], default=(None, 0.0))
    if script is LATIN:
        return code if evidence >= max(MIN_EVIDENCE, MIN_SHARE * amount) else None
    return code or script.languages[0]


def words_by_script(text: str) -> dict[Script, float]:
    """Return how many words a text has in each script, estimated from its letters."""
    scripts = (LATIN,) if text.isascii() else SCRIPTS
    return {one: n / one.word_letters for one in scripts if (n := len(one.letters.findall(text)))}


def function_words(text: str, among: Iterable[str]) -> dict[str, float]:
    """Return how many function words of each language `among` a text has.

    A word that several of these languages share counts in equal parts for each.
    """
    chosen = frozenset(among)
    found: dict[str, float] = {}
    for word in _WORD.findall(unicodedata.normalize("NFC", text.lower())):
        languages = [code for code in _LANGUAGES_OF.get(word, ()) if code in chosen]
        for code in languages:
            found[code] = found.get(code, 0.0) + 1 / len(languages)
    return found
