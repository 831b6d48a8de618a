"""Find the parts of a query that are matched as a whole: quoted phrases, names of code, options and error codes.

Full text knows the words of a phrase, but not their order. A chunk that contains the phrase has the evidence of one
more word, which is as rare as the phrase. A chunk that defines a name has more evidence than one that uses it.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from cdesearch.search.definitions import is_defined
from cdesearch.search.query_syntax import QUOTED
from cdesearch.search.readable import without_markup
from cdesearch.words.analyzer import runs_of
from cdesearch.words.numbers import named_dates
from cdesearch.words.scripts import NO_EDGE, NO_END, UNSPACED
from cdesearch.words.stop_words import EVERY_STOP_WORD
from cdesearch.words.word_forms import folded

MAX_TERMS = 8  # of a query; each needs a search of its own
MAX_CHARACTERS = 200  # of a term
MAX_SEARCH_WORDS = 12  # of a query whose quotation marks demand a phrase; in a longer text they quote or emphasise
_APOSTROPHES, _HYPHENS = "'\u2019\u02bc", "-\u2010\u2011\u2012\u2013\u2014\u2212"  # which people type as ' and -
LEAST_DIGITS, MOST_OF_DATE = 3, 5  # digits of a number that is more than its meaning, and words of a date
SATURATION = 1.2  # of BM25: two occurrences have less than twice the evidence of one
DEFINITION_WEIGHT = 3.0  # relative to a word as rare as the definition; see benchmarks/results/LOG.md

# What may be between two characters of a phrase that is shown as text. It ends in one way only, to be fast.
_IN_WORD = r"(?:[\\*_~`=]|<[^<>]*>|-\n[ \t#>/;%]*(?:\*[ \t]+)?)*"
_IN_RUN = r"(?:[\\*_~`=\s]|<[^<>]*>)*"  # of letters of a script without blanks, which the end of a line may divide
_BETWEEN = (
    r"(?:[\\*_~`=+/!%|#>;\[\]\s·]|--|<[^<>]*>|\]\([^()]*(?:\([^()]*\)[^()]*)*\)|\]\[[0-9A-Za-z][^\[\]]*\]"
    r"|\[\^[^\[\]\s]+\]|\[\[[^\[\]|]*\||&nbsp;)*"
)
# What may be between two words of a phrase, in the condition for its candidates, of which `count` decides. It has no
# `\W`, because LanceDB refuses a pattern in which that class is repeated often.
_ANY_SIGNS = r"(?:[^0-9A-Za-z]|<[^<>]*>|\]\([^()]*\))+"
_KEPT = re.compile(r"([\\*_~`=+/!%|#>;\[\]\s·]*)([^\\*_~`=+/!%|#>;\[\]\s·])")
# The end of a line that a backslash continues, and what marks the next one as a comment or a quotation
_LINE_END = re.compile(r"\\?\n(?:(?:[ \t]*(?:[#>;*%!/]|--))+[ \t]+|[ \t>]*)")
_MARKUP = re.compile(r"[*_~`=<>|&\\\[\]]")  # the signs without which words are shown as they are written
_EMPHASIS = "[/=+]?"  # of Org, where words in Markdown have none
_WORDS, _NAMES = re.compile(r"[^\W_]+"), re.compile(r"\w+|[|<>]")
# A phrase of words with hyphens between them, and signs at their ends
_PHRASE = re.compile(rf"(?:[^\W_]+(?:[{_HYPHENS}{_APOSTROPHES}][^\W_]+)*(?:[,.;:!?]?\s+|[,.;:!?]?$))+")
_QUOTED = re.compile(QUOTED)
_CODE = re.compile(
    r"""
      (?<![\w-])--?[a-zA-Z]\w*(?:-\w+)*                 # --dry-run
    | (?<![\w-])[A-Z]{1,9}[-.]?\d{2,}(?:[-.]\d+)*(?![\w-])  # ORA-00942, E1234, F.75
    | (?<![\w-])\w+(?:-\w+)+\.[a-zA-Z]\w{0,5}(?!\w)    # shopping-list.md
    | (?<!\w)[^\W\d]\w+(?:(?:\.|::|->)\w+)+             # os.path.join
    | \w*[^\W_]_\w*[^\W_]\w* | __\w+__                  # should_strip_auth
    | (?<!\w)_*[a-z]+\d*[A-Z]\w* | (?<!\w)_*(?:[A-Z]\w*[a-z]\w*[A-Z]|[A-Z]{2,}\w*[a-z])\w*   # getItem, HTTPError
    """,
    re.VERBOSE,
)
_ADDRESS = re.compile(r"(?=\S*\d)[^\s\"“”]{2,}|\d{4}-\d\d-\d\d \d\d:\d\d\S*")  # or a part of a URL, or a time
_TOO_LONG = re.compile(rf"\w{{{MAX_CHARACTERS + 1},}}")  # _CODE would take time that grows with its square
_SEPARATOR = re.compile(r"\.|::|->")


@dataclass(frozen=True)
class ExactTerm:
    """A part of a query that is matched as a whole. Case counts if the part contains a capital letter."""

    text: str
    is_phrase: bool = False  # whether it was quoted

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What matches the term as a whole, with any white space between its words."""
        return re.compile(self._whole, self._flags)

    @property
    def is_one_word(self) -> bool:
        """Whether full text takes the term for a single word, whose score it already contains."""
        return len(runs_of(self.text)) < 2

    @property
    def is_of_common_words(self) -> bool:
        """Whether full text may ignore all words of the term."""
        return all(word.lower() in EVERY_STOP_WORD for word in _WORDS.findall(self.text))

    @property
    def condition(self) -> str:
        """The SQL condition on the column `text` for the chunks that may contain the term."""
        expression = ("(?i)" if self._flags else "") + (self._loose if self.is_phrase else self._words)
        if self._is_of_words:
            expression += f"|{_ANY_SIGNS.join(_sequence(self.text).split())}"
        return f"regexp_match(text, '{expression.replace(chr(39), chr(39) * 2)}')"

    def is_name_of(self, path: str) -> bool:
        """Whether the term is the name of the file, with or without its suffix, and with other signs between words."""
        name, text = normalize("NFC", path.rpartition("/")[2].casefold()), self.text.casefold()
        names, own = (name, name.rpartition(".")[0]), _WORDS.findall(text)
        return not self.is_phrase and (text in names or (len(own) > 1 and own in map(_WORDS.findall, names)))

    def count(self, text: str) -> int:
        """How often a text contains the term. A phrase is also found in the text as it is shown, without markup."""
        found = self._count(text)
        if found or not self.is_phrase or text.isascii() or self._has_accents:
            return found
        return self._count(folded(text))

    def is_in(self, text: str) -> bool:
        """Whether a text contains the term, without the patterns of `count` for words: compiling them takes 10 ms."""
        if not self._is_of_words:
            return self.count(text) > 0
        sought = _sequence(folded(self.text))
        if sought in _sequence(folded(text)):
            return True
        return _MARKUP.search(text) is not None and sought in _sequence(folded("\n".join(_shown_lines(text))))

    def _count(self, text: str) -> int:
        if self.is_phrase and not self._marked_up.search(text) and not self._has_words(text):
            return 0
        found = sum(1 for _ in self.pattern.finditer(text))
        if found or not self.is_phrase:
            return found
        shown = "\n".join(_shown_lines(text))
        joined = {shown, shown.replace("-\n", ""), shown.replace("-\n", "-")}  # a hyphen may end a line
        found = max(sum(1 for _ in self.pattern.finditer(one)) for one in joined)
        return found or (_sequence(shown).count(_sequence(self.text)) if self._is_of_words else 0)

    def is_defined_in(self, body: str) -> bool:
        """Whether a text defines the name, or describes the option. Phrases are not defined."""
        return not self.is_phrase and is_defined(self.text, self._last_part, body)

    @cached_property
    def _last_part(self) -> re.Pattern[str]:
        """What matches `method` if the term is `Class.method`, because code defines the one and not the other."""
        if self.text.startswith("-"):
            return self.pattern
        return re.compile(rf"(?<!\w){re.escape(_SEPARATOR.split(self.text)[-1])}(?!\w)", self._flags)

    @cached_property
    def _has_accents(self) -> bool:
        """Whether a phrase is not found in a text with other accents, because it has some itself."""
        return folded(self.text) != self.text.lower()

    @cached_property
    def _is_of_words(self) -> bool:
        """Whether the term is a phrase of words alone, between which any signs may be in a text."""
        return self.is_phrase and bool(_PHRASE.fullmatch(self.text)) and not UNSPACED.search(self.text)

    def _has_words(self, text: str) -> bool:
        """Whether a text has the words of a phrase of words, in any order."""
        lower = text.casefold()
        return self._is_of_words and all(word in lower for word in _sequence(self.text).split())

    @property
    def _whole(self) -> str:
        other, hyphen = "_" * self.is_phrase, "|-" * self.text.startswith("-")
        is_not_before, is_not_after = rf"(?<![^\W{other}{NO_EDGE}]{hyphen})", rf"(?![^\W{other}{NO_END}]{hyphen})"
        if self.is_phrase:  # `_phrase_` is emphasised, and `the_phrase` is a name
            is_not_before, is_not_after = rf"{is_not_before}(?<!\w_)", rf"{is_not_after}(?!_\w)"
        # Scripts without blanks have no ends of words, and a phrase may be a part of a run of letters.
        before = "" if UNSPACED.match(self.text[0]) else is_not_before
        after = "" if UNSPACED.match(self.text[-1]) else is_not_after
        return f"(?={self._words}){before}{self._words}{after}"  # a lookahead, because the classes take long

    @property
    def _words(self) -> str:
        """The words with any white space between them. A phrase may have other apostrophes and hyphens."""
        if not self.is_phrase:
            return r"\s+".join(map(re.escape, self.text.split()))
        words = rf"{_EMPHASIS}\s+{_EMPHASIS}".join("".join(map(_spellings, word)) for word in self.text.split())
        return UNSPACED.sub(lambda run: r"\s*".join(run[0]), words)

    @cached_property
    def _marked_up(self) -> re.Pattern[str]:
        return re.compile(self._loose, self._flags)

    @property
    def _loose(self) -> str:
        """The characters of a phrase with any markup between them, which `without_markup` may remove."""
        expression, last = "", ""
        for gap, one in _KEPT.findall(self.text):
            between = _IN_WORD if not gap and last.isalnum() and one.isalnum() else _BETWEEN
            between = _IN_RUN if not gap and UNSPACED.match(one) else between
            written = one if one.isascii() and one.isalnum() else rf"(?:{_spellings(one)}|&[^;&]{{1,9}};)"
            expression, last = f"{expression}{between * bool(last)}{written}", one
        return expression or self._words

    @property
    def _flags(self) -> re.RegexFlag:
        is_capital = not self.is_phrase and self.text != self.text.lower()
        return re.RegexFlag(0) if is_capital else re.IGNORECASE


def _shown_lines(text: str) -> Iterator[str]:
    """The lines of a text without markup."""
    return map(without_markup, _LINE_END.sub("\n", text).split("\n"))


def _sequence(text: str) -> str:
    """The words of a text in lower case, each between two blanks. The edges of cells and tags count as words."""
    return f" {' '.join(_NAMES.findall(text.casefold()))} "


def _spellings(character: str) -> str:
    """What matches a character of a phrase: people type apostrophes and hyphens in several forms."""
    alike = next((signs for signs in (_APOSTROPHES, _HYPHENS) if character in signs), None)
    return f"[{alike}]" if alike else re.escape(character)


def exact_terms(query: str) -> tuple[ExactTerm, ...]:
    """The terms of a query, without duplicates, at most MAX_TERMS. A query of one word is a term."""
    quoted = [ExactTerm(" ".join(one[1:-1].split()), is_phrase=True) for one in _QUOTED.findall(query)]
    rest = _TOO_LONG.sub(" ", _QUOTED.sub(" ", query))
    only = _only_name(rest)
    names = [only] if only else [match[0] for match in _CODE.finditer(rest)]
    terms = [*quoted, *(ExactTerm(name) for name in names)]
    kept = [term for term in dict.fromkeys(terms) if 1 < len(term.text) <= MAX_CHARACTERS]
    return tuple(kept[:MAX_TERMS])


def _only_name(text: str) -> str | None:
    """The text without blanks and parentheses if it is one word, name, number or address; otherwise None."""
    name = text.strip().rstrip("?!,;").removesuffix("()")
    is_name = " " not in name and runs_of(name) == [name]
    return name if is_name or _ADDRESS.fullmatch(name) else None


def is_exact(query: str) -> bool:
    """Whether a query consists of one name, of one date, of a number and one word, or of quoted phrases only."""
    return is_quoted(query) or _only_name(query) is not None or _is_number(query.split())


def _is_number(words: Sequence[str]) -> bool:
    """Whether words are one date, or a number of three digits or more with one other word, such as 885 euros."""
    most = max((sum(map(str.isdigit, word)) for word in words), default=0)
    if not 2 <= len(words) <= MOST_OF_DATE or most < LEAST_DIGITS:
        return False
    return len(words) == 2 or any(named_dates(" ".join(words)))


def is_quoted(query: str) -> bool:
    """Whether a query consists of quoted phrases only."""
    return not _QUOTED.sub("", query).strip() and bool(exact_terms(query))


def demands_phrases(query: str) -> bool:
    """Whether every hit of a query must contain a quoted phrase, if any chunk does."""
    return len(query.split()) <= MAX_SEARCH_WORDS


def exact_evidence(
    term: ExactTerm, bodies: Sequence[tuple[str, str]], n_chunks: int, named: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """The evidence (m,) of a term in texts that contain it, which is added to their BM25 scores.

    A text is a pair of its headings and its body, of which only the body can define the term. `named` says which texts
    are in a file of this name, which counts as a definition. The fewer of the `n_chunks` chunks use or define the term,
    the more each of them counts.
    """
    counts = [term.count(header) + term.count(body) for header, body in bodies]
    defined = [count > 0 and term.is_defined_in(body) for count, (_, body) in zip(counts, bodies, strict=True)]
    named = np.zeros(len(bodies), bool) if named is None else named
    whole = 0.0 if term.is_one_word else idf(sum(count > 0 for count in counts), n_chunks)
    used = [whole * count * (SATURATION + 1) / (count + SATURATION) for count in counts]
    added: NDArray[np.float64] = np.array(used, np.float64)
    weights = idf(sum(defined), n_chunks) * np.array(defined, np.float64) + idf(int(named.sum()), n_chunks) * named
    return added + DEFINITION_WEIGHT * weights


def idf(n_texts: int, n_chunks: int) -> float:
    """The weight of a word that `n_texts` of `n_chunks` contain, as full text computes it; 0 if none does."""
    if not n_texts:
        return 0.0
    return math.log(1 + (n_chunks - n_texts + 0.5) / (n_texts + 0.5))
