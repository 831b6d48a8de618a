"""Convert pages of the manual, which are written with the macros of man(7) or mdoc(7), to Markdown."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from indexer.formats.format import MAX_TITLE, Document, OpenFile
from indexer.formats.markdown import converted_document, without_headings
from indexer.formats.mdoc import CLOSING, MACROS, in_line
from indexer.formats.troff import arguments, plain

SNIFFED = 20_000  # characters; pod2man writes five thousand before the title
MAX_MARKS = 20  # different lines that end definitions
MAX_STRINGS, MAX_STRING = 1000, 200  # that a page defines, and characters of each
# The suffixes of pages, such as `.1`, `.3pm` and `.1ssl`, except those of well-known binary files
SECTION = re.compile(r"\.(?!(?:7z|3gpp?|3d[ms]|3mf|2bit)$)(?:[1-9][a-z]{0,15}|n)", re.IGNORECASE)

_TITLE = re.compile(r"^[.'][ \t]*(?:TH|Dt)[ \t]+\S", re.MULTILINE)
_CONTROL = re.compile(r"[.'][ \t]*([^\s\\]{1,20})[ \t]*(.*)")
_LITERAL = re.compile(r"-(?:literal|unfilled)")
_SEPARATOR = re.compile(r"\btab[ \t]*\((.)\)")
# Requests by what is done with them; the others have no text.
_CONDITIONS = {"if", "ie", "el", "while"}
_MAX_CONDITIONS = 8  # in one line; the text of further ones is left out
_DEFINITION = {"de", "de1", "am", "ig"}
_HEADINGS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_BLANKS = {"PP", "P", "LP", "Pp", "sp", "HP", "TP", "TQ", "RE", "Bl", "El"}
_TAGS = {"IP": 1, "AP": 3, "OP": 3, "It": 0}  # the number of arguments that are text
_VERBATIM = {"nf", "EX", "CS", "Vb", "DS", "SO"}
_VERBATIM_ENDS = {"fi", "EE", "CE", "Ve", "DE", "SE", "Ed"}
_ALTERNATING = {"BR", "RB", "BI", "IB", "IR", "RI"}
_JOINED = {"B", "I", "SM", "SB", "R", "CW", "UR", "MT", *_ALTERNATING}
_QUOTING = {"QW": ('"', '"'), "PQ": ('("', '")')}  # of the pages of Tcl


def is_manual_page(text: str) -> bool:
    """Whether text begins as a page of the manual, or names the file that contains the page."""
    return text.startswith(".so ") or (text.startswith((".", "'", '\\"')) and bool(_TITLE.search(text, 0, SNIFFED)))


def manual_page(file: OpenFile, text: str) -> Document:
    """The document of a page. Its title is the line under NAME, such as "ls - list directory contents"."""
    lines = text.split("\n")
    page = _Page(lines)
    for number, line in enumerate(lines, start=1):
        page.read(line.rstrip(), number)
    document = converted_document(file.path, page.title() or file.name, "\n".join(page.lines))
    return replace(document, has_lines=True, line_numbers=tuple(page.numbers))


class _Page:
    """The Markdown of the lines that have been read, each with its number in the file."""

    def __init__(self, source: Sequence[str]) -> None:
        self.lines: list[str] = []
        self._source = source  # the lines of the file
        self._last: dict[str, int] = {}  # for each mark that ends definitions, the number of its last line
        self.numbers: list[int] = []
        self._strings: dict[str, str] = {}
        self._name = ""  # of a page of mdoc, or the title of another one
        self._skipped_to = ""  # the line that ends a definition
        self._braces = 0  # of conditions whose text is left out
        self._n_conditions = 0  # of the line that is read; their text is read as well
        self._reads_else = False  # whether the latest `ie` holds on other devices than a terminal
        self._heading = 0  # the level of the heading whose text is on the next line
        self._is_verbatim = False
        self._table: _Table | None = None
        self._number = 0

    def title(self) -> str:
        """The text under the first heading, which is NAME, or else the title of the page."""
        headings = [number for number, line in enumerate(self.lines) if line.startswith("#")]
        if headings:
            first = takewhile(lambda line: not line.startswith("#"), self.lines[headings[0] + 1 :])
            found = " ".join(" ".join(first).split())
            if found and len(found) <= MAX_TITLE // 2:
                return found
        return self._name

    def read(self, line: str, number: int) -> None:
        """Read the next line of the file."""
        self._number = number
        if self._skipped_to:
            if line.startswith(self._skipped_to):
                self._skipped_to = ""
        elif self._braces:
            self._braces = max(0, self._braces + line.count("\\{") - line.count("\\}"))
        elif self._table is not None and not line.startswith(".TE"):
            row = plain(self._table.row(line), self._strings)
            if row:
                self._put(row)
        elif line.startswith((".", "'")):
            control = _CONTROL.match(line)
            if control:
                self._request(control[1], control[2])
        elif not line.startswith('\\"'):
            self._text(plain(line.removesuffix("\\}"), self._strings))

    def _text(self, text: str) -> None:
        if self._heading:
            self._put(f"{'#' * self._heading} {' '.join(text.split())}")
            self._blank()
            self._heading = 0
        elif self._is_verbatim:
            self._put(text)
        elif text.strip():
            self._put(without_headings(text.strip()))
        else:
            self._blank()

    def _put(self, line: str) -> None:
        self.lines.append(line)
        self.numbers.append(self._number)

    def _blank(self) -> None:
        if self.lines and self.lines[-1]:
            self._put("")

    def _request(self, name: str, rest: str) -> None:
        if name in _DEFINITION:
            # The argument of `ig` is the end itself, that of the others follows the name of the macro.
            ends = arguments(rest)[name != "ig" :]
            mark = f".{ends[0]}" if ends else ".."
            self._skipped_to = mark if self._is_ended(mark) else ""
        elif name in _CONDITIONS:
            self._condition(name, rest)
        elif name in _VERBATIM or (name == "Bd" and _LITERAL.search(rest)):
            self._set_verbatim(is_on=True)
        elif name in _VERBATIM_ENDS:
            self._set_verbatim(is_on=False)
        elif name in ("TS", "TE"):
            self._table = _Table() if name == "TS" else None
            self._blank()
        elif name in _BLANKS:
            self._blank()
        elif name == "ds":
            string, _, value = rest.partition(" ")
            if len(self._strings) < MAX_STRINGS:
                self._strings[string] = plain(value.strip().removeprefix('"'), {})[:MAX_STRING]
        else:
            self._words(name, [plain(word, self._strings) for word in arguments(rest)])

    def _is_ended(self, mark: str) -> bool:
        """Whether a line below ends a definition. Without one, the text below is that of the page."""
        if mark not in self._last and len(self._last) < MAX_MARKS:
            numbered = enumerate(self._source, start=1)
            self._last[mark] = max((number for number, line in numbered if line.startswith(mark)), default=0)
        return self._last.get(mark, 0) > self._number

    def _condition(self, name: str, rest: str) -> None:
        """Read the text of a condition that holds if a terminal shows the page, and leave out that of any other."""
        device, text = ("", rest) if name == "el" else (rest[:1], rest[1:])
        is_device = text[:1] in ("", " ", "\t", "\\")
        holds = self._reads_else if name == "el" else device == "n" and is_device
        self._reads_else = name == "ie" and device == "t" and is_device
        if not holds or self._n_conditions == _MAX_CONDITIONS:
            self._braces = max(0, rest.count("\\{") - rest.count("\\}"))
            return
        self._n_conditions += 1
        text = text.strip().removeprefix("\\{").removeprefix("\\").strip().removesuffix("\\}")
        if text:
            self.read(text, self._number)
        self._n_conditions -= 1

    def _words(self, name: str, words: list[str]) -> None:
        """A request whose arguments are text."""
        if name in ("TH", "Dt"):
            self._name = f"{words[0]}({words[1]})" if len(words) > 1 else "".join(words)
        elif name in _HEADINGS:
            self._set_verbatim(is_on=False)
            self._blank()
            self._heading = _HEADINGS[name]
            if words:
                self._text(" ".join(words))
        elif name in _TAGS:
            self._blank()
            self._text(" ".join(words[: _TAGS[name]]) if name != "It" else in_line(words, self._name))
        elif name in _JOINED:
            self._text(("" if name in _ALTERNATING else " ").join(words))
        elif name in _QUOTING:
            before, after = _QUOTING[name]
            self._text(f"{before}{''.join(words[:1])}{after}{''.join(words[1:])}")
        elif name in MACROS:
            if name == "Nm" and words and words[0] not in CLOSING:
                self._name = words[0]
            self._text(in_line([name, *words], self._name))

    def _set_verbatim(self, *, is_on: bool) -> None:
        if is_on != self._is_verbatim:
            self._is_verbatim = is_on
            if is_on:
                self._blank()
            self._put("```")
            if not is_on:
                self._put("")


class _Table:
    """A table of tbl(1): its format, and then a line for each row, whose cells may be blocks of lines."""

    def __init__(self) -> None:
        self._separator = "\t"
        self._in_format = True
        self._parts: list[str] = []  # of the row
        self._in_block = False

    def row(self, line: str) -> str:
        """The row that ends with this line, with " | " between cells; "" if none does."""
        if line == ".T&":
            self._in_format = True
        if self._in_format:
            option = _SEPARATOR.search(line)
            self._separator = option[1] if option else self._separator
            self._in_format = not line.endswith(".")
            return ""
        if self._in_block and not line.startswith("T}"):
            self._parts.append(" ".join(arguments(line[1:])[1:]) if line.startswith(".") else line)
            return ""
        self._parts.append(line.removeprefix("T}") if self._in_block else line)
        self._in_block = line.endswith("T{")
        if self._in_block:
            self._parts[-1] = self._parts[-1][:-2]
            return ""
        cells = [cell.strip() for cell in " ".join(self._parts).split(self._separator)]
        self._parts.clear()
        return " | ".join(cells) if any(cell.strip("_=") for cell in cells) else ""
