"""Compounds: in German and its relatives, words are written together, and "Speicher" should find "Arbeitsspeicher".

Which words a compound consists of is told by the vocabulary of the corpus: the other part must be a word, too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

LEAST_PART = 4  # letters of a part, without its ending
MOST_COMPOUNDS = 8  # of one word; more of them cost whole words more than they gain
LEAST_VOCABULARY = 10_000  # words; a smaller vocabulary does not contain most parts, so the other part may be unknown


@dataclass(frozen=True, slots=True)
class Joining:
    """How a language joins words."""

    links: tuple[str, ...]  # letters between two parts
    endings: tuple[str, ...]  # of the forms of a word, the longest first


JOINING = {
    "de": Joining(
        ("s", "es", "n", "en", "e", "er"), ("sen", "ses", "ern", "se", "em", "en", "er", "es", "e", "n", "s")
    ),
    "nl": Joining(("s", "e", "en"), ("en", "e", "s")),
    "da": Joining(("s", "e"), ("erne", "ene", "en", "er", "et", "e", "s")),
    "no": Joining(("s", "e"), ("ene", "en", "er", "et", "a", "e", "s")),
    "sv": Joining(
        ("s", "e", "o", "u"), ("arna", "erna", "orna", "ar", "en", "er", "et", "or", "a", "e", "n", "t", "s")
    ),
}


@dataclass(frozen=True)
class Vocabulary:
    """The words of a corpus in lower case, the most frequent ones first."""

    words: tuple[str, ...]
    n_frequent: int  # the first words, which are in so many chunks that a query finds enough by them

    def compounds_of(self, word: str, language: str) -> list[str]:
        """The most frequent compounds that begin or end with a word, or with another form of it."""
        joining = JOINING.get(language)
        word = word.lower()
        if joining is None or word in self._frequent:
            return []
        stem = _stem(word, joining)
        if len(stem) < LEAST_PART:
            return []
        is_small = len(self.words) < LEAST_VOCABULARY
        found = (one for one, other in self._with({word, stem}, joining) if is_small or self._is_known(other, joining))
        return [*islice(found, MOST_COMPOUNDS)]

    @cached_property
    def _frequent(self) -> frozenset[str]:
        return frozenset(self.words[: self.n_frequent])

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def _lines(self) -> str:
        """All words that are long enough for two parts, each between two line feeds."""
        return "\n".join(["", *(word for word in self.words if len(word) >= 2 * LEAST_PART), ""])

    def _with(self, forms: set[str], joining: Joining) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield words with a part that begins with one of these forms, each with what its other part may be."""
        own = "|".join(sorted(map(re.escape, forms), key=len, reverse=True))
        endings, part = "|".join(joining.endings), rf"\w{{{LEAST_PART},}}"
        pattern = re.compile(rf"({part})(?:{own})(?:{endings})?|(?:{own})({part})")
        for word in self._containing(min(forms, key=len)):
            if match := pattern.fullmatch(word):
                first, last = match.groups()
                without = first.removesuffix if first else last.removeprefix
                yield word, (first or last, *map(without, joining.links))

    def _containing(self, letters: str) -> Iterator[str]:
        """Yield the long words that contain these letters; a search of all words together is the fastest."""
        at = self._lines.find(letters)
        while at >= 0:
            start, end = self._lines.rindex("\n", 0, at) + 1, self._lines.index("\n", at)
            yield self._lines[start:end]
            at = self._lines.find(letters, end)

    def _is_known(self, others: tuple[str, ...], joining: Joining) -> bool:
        stems = {stem for other in others if len(stem := _stem(other, joining)) >= LEAST_PART}
        return any(stem + ending in self._known for stem in stems for ending in ("", *joining.endings))


def _stem(word: str, joining: Joining) -> str:
    """A word without the ending of its form, unless too little would be left."""
    fitting = (one for one in joining.endings if word.endswith(one) and len(word) - len(one) >= LEAST_PART)
    return word.removesuffix(next(fitting, ""))
