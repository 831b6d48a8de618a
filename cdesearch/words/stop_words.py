"""Function words of each language, by which texts in the same script are told apart.

Full text ignores those of the main language of a corpus. Words that also name things are left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path


def _read(lines: str) -> Iterator[tuple[str, frozenset[str]]]:
    for code, words in re.findall(r"^(\w\w)\n((?: .*\n)+)", lines, re.M):
        yield code, frozenset(words.split())


STOP_WORDS = dict(_read(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")))
# Of all languages: a text in any of them does not have these words in full text.
EVERY_STOP_WORD = frozenset[str]().union(*STOP_WORDS.values())
