"""Leaks: pairs on which training would be training on an evaluation set."""

import re
from collections.abc import Sequence
from pathlib import Path
from unicodedata import normalize

from trainer.data.pairs.beir import read_queries, read_texts
from trainer.data.pairs.reading import Pair

SHINGLE = 13  # words
LEAK = 0.25  # a document with this share of its shingles in an evaluation corpus is a leak


class Leaks:
    """The queries and texts of evaluation sets, which no pair may contain."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Read the BEIR `folders`."""
        self._queries: set[str] = set()
        self._shingles: set[int] = set()
        self._short: set[str] = set()  # words of texts without shingles
        for folder in folders:
            for text in read_queries(folder).values():
                self._queries |= {_joined(text)} - {""}
            for text in read_texts(folder / "corpus.jsonl").values():
                self._shingles |= _shingles(text)
                # A text counts both with its title, which read_texts puts before it, and without.
                self._short |= {_joined(part) for part in (text, text.partition("\n")[2]) if _is_short(part)}

    def holds(self, pair: Pair) -> bool:
        """Whether training on this pair would be training on a test."""
        return _joined(pair.query) in self._queries or self.in_texts(pair.document)

    def in_texts(self, document: str) -> bool:
        """Whether a document of training is, or resembles, a text of an evaluation set."""
        shingles = _shingles(document)
        if not shingles:
            return _joined(document) in self._short
        return len(shingles & self._shingles) >= LEAK * len(shingles)


def _joined(text: str) -> str:
    return " ".join(_words(text))


def _is_short(text: str) -> bool:
    return 0 < len(_words(text)) < SHINGLE


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", normalize("NFKC", text).lower())


def _shingles(text: str) -> set[int]:
    words = _words(text)
    return {hash(tuple(words[start : start + SHINGLE])) for start in range(len(words) - SHINGLE + 1)}
