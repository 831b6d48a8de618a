"""Check the citations of an answer while it arrives.

Citations that name no passage are removed, and sentences without a citation are marked.
"""

import re
from collections.abc import Iterator

NO_SOURCE = "[no source]"

_NUMBERS = r"\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*"
_CITATION = re.compile(rf"\[\s*{_NUMBERS}\s*\]")
_MAYBE_CITATION = re.compile(r"\[[\s\d,;\u2013-]{0,24}")  # the possible start of a citation
_NUMBER_OR_RANGE = re.compile(r"(\d+)\s*[\u2013-]\s*(\d+)|(\d+)")
_WIDE_END = r"\u3002\uff01\uff1f"  # the ends of sentences in scripts without spaces between words
_CLOSING = r"\"'\u201d\u2019\u300d\u300f\u00bb)"
_TOKEN = re.compile(rf"{_CITATION.pattern}|\s+|[^\s\[{_WIDE_END}]*[{_WIDE_END}]+[{_CLOSING}]*|\[?[^\s\[]*")
_END = re.compile(rf"[.!?\u2026{_WIDE_END}][{_CLOSING}\]*_]*$")  # the possible end of a sentence
_END_WITHOUT_BLANK = re.compile(rf"[{_WIDE_END}][{_CLOSING}]*$")
_ITEM = re.compile(r"[-*+•]|\d{1,3}[.)]")
_HEADING = re.compile(r"#{1,6}")
_TITLE = re.compile(r"\*\*[^*]+\*\*:?")
_FENCE = re.compile(r"```|~~~")
_LINE_START = re.compile(r"```|~~~|\|")  # the start of code or of a table row


def _tokens(pending: str, *, is_all: bool) -> Iterator[str]:
    """Yield the words, white space and citations in a text, except a last one that later text may still extend.

    With `is_all`, no text follows, so the last one is included.
    """
    for found in _TOKEN.finditer(pending):
        may_go_on = found.end() == len(pending) and not _CITATION.fullmatch(found[0])
        if not is_all and (may_go_on or _MAYBE_CITATION.fullmatch(pending, found.start())):
            return
        if found[0]:
            yield found[0]


class CitationFilter:
    """Checks the citations in the answer of a model while the answer arrives in pieces.

    Headings, code, the head of a table and a line that introduces a list need no source. A citation after the full stop
    belongs to the sentence before it. Citations are never divided, and the output as a whole does not depend on the
    pieces in which the answer arrives.
    """

    def __init__(self, n_passages: int, unmarked: str = "") -> None:
        """The valid citations are the numbers from 1 to `n_passages`. `unmarked` is a sentence that needs no source."""
        self.n_removed = 0  # the number of citations that name no passage
        self.n_unsourced = 0  # the number of sentences without a citation
        self.cited: list[int] = []  # the numbers of the cited passages, in the order of their first citations
        self._n_passages = n_passages
        self._unmarked = unmarked
        self._pending = ""  # a word, white space or a citation that may not be complete
        self._blanks = ""  # white space that is held back, because the mark of a sentence must precede it
        self._starts_line = True
        self._sentence = ""  # the text of the current sentence without citations, list markers and line breaks
        self._has_source = False
        self._kind = ""  # the kind of the current line: "heading", "row" or "" for prose
        self._in_table = False  # whether the head of the current table has ended
        self._fence = ""  # the fence that ends the current code block
        self._in_code = False  # whether the position is between two backticks

    def feed(self, piece: str) -> str:
        """Add a piece of the answer, and return the text that can be shown now."""
        return self._passed(piece, is_all=False)

    def finish(self) -> str:
        """End the answer, and return the rest of its text."""
        return self._passed("", is_all=True) + self._end_sentence() + self._blanks

    def _passed(self, piece: str, *, is_all: bool) -> str:
        self._pending += piece
        shown = ""
        for token in _tokens(self._pending, is_all=is_all):
            self._pending = self._pending[len(token) :]
            if token.isspace():
                self._blanks += token
                self._starts_line |= "\n" in token
            elif self._fence:
                shown += self._code(token)
            elif not self._in_code and _CITATION.fullmatch(token):
                shown += self._citation(token)
            else:
                shown += self._word(token)
        return shown

    def _word(self, word: str) -> str:
        shown = self._end_sentence() if self._is_end_before(word) else ""
        starts_line, gap = self._starts_line, self._blanks
        shown += self._with_blanks(word)
        if starts_line:
            self._kind = "heading" if _HEADING.fullmatch(word) else "row" if word.startswith("|") else ""
            self._in_table &= self._kind == "row"
            if fence := _FENCE.match(word):
                self._fence = fence[0]
                return shown
            if _ITEM.fullmatch(word):
                return shown
        self._in_code ^= word.count("`") % 2 == 1
        self._sentence += (" " if gap and self._sentence else "") + word
        return shown

    def _code(self, word: str) -> str:
        if self._starts_line and word.startswith(self._fence) and not word.strip(self._fence[0]):
            self._fence = ""
        return self._with_blanks(word)

    def _citation(self, token: str) -> str:
        """The citation with its valid numbers only, or no text if none is valid."""
        shown = self._end_sentence() if self._starts_line and self._is_end_before(token) else ""
        numbers = list(_numbers(token))
        valid = [number for number in dict.fromkeys(numbers) if 1 <= number <= self._n_passages]
        self.n_removed += sum(not 1 <= number <= self._n_passages for number in numbers)
        self.cited += [number for number in valid if number not in self.cited]
        if not valid:
            if "\n" not in self._blanks:
                self._blanks = ""
            return shown
        self._has_source = True
        return shown + self._with_blanks("[" + ", ".join(map(str, valid)) + "]")

    def _with_blanks(self, word: str) -> str:
        blanks, self._blanks, self._starts_line = self._blanks, "", False
        return blanks + word

    def _is_end_before(self, word: str) -> bool:
        if not self._sentence:
            return False
        if self._blanks.count("\n") > 1:
            return True
        if "\n" in self._blanks and (
            self._kind
            or self._sentence.endswith(":")
            or _LINE_START.match(word)
            or _ITEM.fullmatch(word)
            or _HEADING.fullmatch(word)
        ):
            return True
        if self._in_code or not _END.search(self._sentence):
            return False
        if not self._blanks:
            return bool(_END_WITHOUT_BLANK.search(self._sentence))
        from sentencex import get_sentence_boundaries  # which knows abbreviations such as "e.g."

        bounds = get_sentence_boundaries("en", f"{self._sentence} {word}")
        return any(bound["start_index"] == len(self._sentence) + 1 for bound in bounds)

    def _end_sentence(self) -> str:
        """End the current sentence, and return the mark that follows it if it needs a source and has none."""
        sentence, has_source = self._sentence, self._has_source
        self._sentence, self._has_source, self._in_code = "", False, False
        if self._kind == "row" and not self._in_table:  # the head of a table, or the delimiter row below it
            self._in_table = not re.search(r"\w", sentence)
            return ""
        needs_source = not (
            has_source
            or self._kind == "heading"
            or sentence.endswith(":")
            or sentence == self._unmarked
            or _TITLE.fullmatch(sentence)
            or not re.search(r"\w", sentence)
        )
        self.n_unsourced += needs_source
        return f" {NO_SOURCE}" if needs_source else ""


def _numbers(citation: str) -> Iterator[int]:
    for first, last, single in _NUMBER_OR_RANGE.findall(citation):
        yield from range(int(first), int(last) + 1) if first else [int(single)]
