"""Convert pages of the manual, which are written with the macros of man(7) or mdoc(7), to Markdown."""

import re
from dataclasses import replace
from itertools import takewhile
from unicodedata import normalize

from indexer.formats.format import MAX_TITLE, Document, OpenFile
from indexer.formats.markdown import converted_document, without_headings

SNIFFED = 20_000  # characters; pod2man writes five thousand before the title
MAX_CONDITIONS = 8  # in one line
MAX_STRING = 100  # characters of a string that a page defines, and may repeat
# The suffixes of pages, such as `.1`, `.3pm` and `.1ssl`, except those of well-known binary files
SECTION = re.compile(r"\.(?!(?:7z|3gpp?|3d[ms]|3mf|2bit)$)(?:[1-9][a-z]{0,15}|n)", re.IGNORECASE)

# Requests by what is done with them; the others have no text.
_KINDS = {
    name: kind
    for kind, names in {
        "blank": "PP P LP Pp sp Sp HP TP TQ RE Bl El",
        "code": "nf EX CS Vb DS SO",
        "end of code": "fi EE CE Ve DE SE Ed",
        "# ": "SH Sh",
        "## ": "SS Ss",
        "words": "B I SM SB R CW UR MT QW PQ",
        "joined": "BR RB BI IB IR RI",
        "term": "IP AP OP",
        "table": "TS TE T&",
        "condition": "if ie el",
        "title": "TH Dt",
    }.items()
    for name in names.split()
}
# Macros of mdoc, which may also stand among the words of a line
_MDOC = {
    "Ad", "An", "Ar", "Bx", "Cd", "Cm", "Dv", "Dx", "Em", "Er", "Ev", "Fa", "Fl", "Fn", "Fo", "Ft", "Fx", "Ic", "In",
    "It", "Li", "Lk", "Ms", "Mt", "Nd", "Nm", "No", "Ns", "Nx", "Ox", "Pa", "Sx", "Sy", "Tn", "Ux", "Va", "Vt", "Xr",
    "Dl", "D1", "St", "Op", "Bq", "Dq", "Qq", "Sq", "Ql", "Pq", "Aq", "Brq",
}  # fmt: skip
# Special characters and predefined strings by their names; groff_char(7) lists all of them. Others keep their names.
_CHARACTERS = {
    "em": "\u2014", "en": "\u2013", "hy": "-", "bu": "\u2022", "lq": '"', "rq": '"', "oq": "'", "cq": "'", "aq": "'",
    "dq": '"', "ga": "`", "ha": "^", "ti": "~", "rs": "\\", "sl": "/", "co": "\u00a9", "rg": "\u00ae", "tm": "\u2122",
    "mu": "\u00d7", "mi": "-", "pl": "+", "+-": "\u00b1", "de": "\u00b0", "eq": "=", "ba": "|", "br": "|", "bv": "|",
    "at": "@", "sh": "#", "Do": "$", "lB": "[", "rB": "]", "lC": "{", "rC": "}", "la": "<", "ra": ">", "ul": "_",
    "ru": "_", "ss": "\u00df", "AE": "\u00c6", "ae": "\u00e6", "/O": "\u00d8", "/o": "\u00f8", "12": "1/2", "14": "1/4",
    "34": "3/4", "sc": "\u00a7", "dg": "\u2020", "*m": "\u03bc", "if": "\u221e", "Fo": "\u00ab", "Fc": "\u00bb",
    "or": "|", "Tm": "\u2122", "R": "\u00ae", "Aq": "'", "==": "==",
}  # fmt: skip
_SIGNS = {"e": "\\", "\\": "\\", "~": " ", "0": " ", "t": "\t", "a": "\t"} | dict.fromkeys("&)/,:%{}cdupr^|!", "")
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", ":": "\u0308", ",": "\u0327"}

_TITLE = re.compile(r"^[.'][ \t]*(?:TH|Dt)[ \t]+\S", re.MULTILINE)
_REQUEST = re.compile(r"[.'][ \t]*([^\s\\]{1,20})[ \t]*(.*)")
_DEFINITION = re.compile(r"^[.'][ \t]*(?:de1?|am|ig)\b[^\n]*\n", re.MULTILINE)
_CONDITION = re.compile(r"([nt])(?=[ \t\\]|$)[ \t]*(.*)")
_SEPARATOR = re.compile(r"\btab[ \t]*\((.)\)")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|((?:\\[^"]|[^\s\\])+)')
_COMMENT = re.compile(r"(?<!\\)\\[\"#].*")
_BEFORE_SIGN = re.compile(r" (?=[.,:;)\]?!](?:\W|$))")
_ESCAPE = re.compile(
    r"\\(?:[\"#].*|\*(?:\((?P<string>..)|\[(?P<named>[^\]]{0,99})\]|(?P<letter>[^(\[]))"
    r"|[fFmMkVYgn][-+]?(?:\(..|\[[^\]]{0,99}\]|.)|s(?:[-+]?\d|[-+]?\(..|\[[^\]]{0,9}\]|\([-+]\d\d)"
    r"|\((?P<two>..)|\[(?P<any>[^\]]{0,99})\]"
    r"|C'(?P<quoted>[^']{0,99})'|[hvwbDHLlNoXxZBARS]'[^']{0,999}'|z|(?P<sign>.)|$)"
)


def is_manual_page(text: str) -> bool:
    """Whether text begins as a page of the manual, or names the file that contains the page."""
    return text.startswith(".so ") or (text.startswith((".", "'", '\\"')) and bool(_TITLE.search(text, 0, SNIFFED)))


def manual_page(file: OpenFile, text: str) -> Document:
    """The document of a page. Its title is the line under NAME, such as "ls - list directory contents"."""
    page = _Page()
    for number, line in enumerate(_without_definitions(text).split("\n"), start=1):
        page.read(line.rstrip(), number)
    document = converted_document(file.path, page.title() or file.name, "\n".join(page.lines))
    return replace(document, has_lines=True, line_numbers=tuple(page.numbers))


def _without_definitions(text: str) -> str:
    """The text with empty lines for definitions of macros. One that does not end hides nothing."""
    parts, position = [], 0
    while (match := _DEFINITION.search(text, position)) and (end := text.find("\n..", match.end() - 1)) >= 0:
        parts += [text[position : match.start()], "\n" * text.count("\n", match.start(), end + 1)]
        position = end + 3
    return "".join([*parts, text[position:]])


class _Page:
    """The Markdown of the lines that have been read, each with its number in the file."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self._number = 0
        self._name = ""  # of a page of mdoc, or the title of another one
        self._strings = _CHARACTERS.copy()
        self._heading = ""  # the marks of the heading whose text is on the next line
        self._is_code = False
        self._braces = 0  # of conditions whose text is left out
        self._reads_else = False  # whether the latest `ie` holds on a printer only
        self._separator = ""  # of the cells of a table; "\n" before its rows
        self._tab = "\t"  # the separator that the format of the table names

    def title(self) -> str:
        """The text under the first heading, which is NAME, or else the title of the page."""
        for number, line in enumerate(self.lines):
            if line.startswith("#"):
                found = " ".join(" ".join(takewhile(lambda one: one[:1] != "#", self.lines[number + 1 :])).split())
                return found if found and len(found) <= MAX_TITLE // 2 else self._name
        return self._name

    def read(self, line: str, number: int, n_conditions: int = 0) -> None:
        """Read the next line of the file, or the text of conditions in it."""
        self._number = number
        request = _REQUEST.match(line)
        if self._braces:
            self._braces = max(0, self._braces + line.count("\\{") - line.count("\\}"))
        elif request is None:
            if line[:1] not in (".", "'") and not line.startswith('\\"'):
                self._text(self._plain(line.removesuffix("\\}")))
        elif _KINDS.get(request[1]) == "condition":
            self._condition(request[1], request[2], n_conditions)
        elif request[1] == "ds":
            name, _, value = request[2].partition(" ")
            self._strings[name] = self._plain(value.strip().removeprefix('"'))[:MAX_STRING]
        else:
            arguments = [
                self._plain(match[2] if match[1] is None else match[1].replace('""', '"'))
                for match in _ARGUMENT.finditer(_COMMENT.sub("", request[2]))
            ]
            self._request(request[1], arguments)

    def _condition(self, name: str, rest: str, n_conditions: int) -> None:
        """Read the text of a condition that holds if a terminal shows the page, and leave out that of any other."""
        match = _CONDITION.match(rest)
        holds = self._reads_else if name == "el" else match is not None and match[1] == "n"
        text = rest if name == "el" else match[2] if match else ""
        self._reads_else = name == "ie" and match is not None and match[1] == "t"
        if not holds or n_conditions == MAX_CONDITIONS:
            self._braces = max(0, rest.count("\\{") - rest.count("\\}"))
        elif text := text.strip().removeprefix("\\{").removeprefix("\\").strip().removesuffix("\\}"):
            self.read(text, self._number, n_conditions + 1)

    def _request(self, name: str, words: list[str]) -> None:
        kind = _KINDS.get(name, "")
        if kind == "title":
            self._name = f"{words[0]}({words[1]})" if len(words) > 1 else "".join(words)
        elif kind.startswith("#"):
            self._set_code(is_on=False)
            self._blank()
            self._heading = kind
            if words:
                self._text(" ".join(words))
        elif kind == "table":
            self._separator = "" if name == "TE" else "\n"
            self._tab = "\t" if name == "TS" else self._tab
            self._blank()
        elif kind in ("code", "end of code") or (name == "Bd" and {"-literal", "-unfilled"} & set(words)):
            self._set_code(is_on=kind != "end of code")
        elif kind in ("blank", "term"):
            self._blank()
            if kind == "term":
                self._text(" ".join(words[: 1 if name == "IP" else 3]))
        elif kind in ("words", "joined"):
            self._text(("" if kind == "joined" else " ").join(words))
        elif name in _MDOC:
            if name == "It":
                self._blank()
            self._text(self._in_line([name, *words]))

    def _in_line(self, words: list[str]) -> str:
        """The text of macros of mdoc and their arguments, such as "-l file"."""
        if words[0] == "Nm" and words[1:2] and words[1][0].isalnum():
            self._name = words[1]
        if words == ["Nm"]:
            return self._name
        signs = {"Fl": "-", "Nd": "- "}
        shown = [signs.get(word, "") if word in _MDOC else f"{word} " for word in words]
        return _BEFORE_SIGN.sub("", "".join(shown).rstrip())

    def _text(self, text: str) -> None:
        if self._heading:
            self._put(f"{self._heading}{' '.join(text.split())}")
            self._heading = ""
            self._blank()
        elif self._separator:
            self._row(text)
        elif self._is_code:
            self._put(text)
        elif text.strip():
            self._put(without_headings(text.strip()))
        else:
            self._blank()

    def _row(self, line: str) -> None:
        """Write a row of a table of tbl(1), or a line of a cell between `T{` and `T}`.

        The rows follow the format of the table, which ends with a dot.
        """
        if self._separator == "\n":
            option = _SEPARATOR.search(line)
            self._tab = option[1] if option else self._tab
            self._separator = self._tab if line.endswith(".") else "\n"
            return
        cells = [cell.strip() for cell in line.removeprefix("T}").removesuffix("T{").split(self._separator)]
        if any(cell.strip("_=") for cell in cells):
            self._put(" | ".join(filter(None, cells)))

    def _put(self, line: str) -> None:
        self.lines.append(line)
        self.numbers.append(self._number)

    def _blank(self) -> None:
        if self.lines and self.lines[-1]:
            self._put("")

    def _set_code(self, *, is_on: bool) -> None:
        if is_on != self._is_code:
            self._is_code = is_on
            if is_on:
                self._blank()
            self._put("```")
            if not is_on:
                self._put("")

    def _plain(self, text: str) -> str:
        """Text without escapes."""
        return _ESCAPE.sub(self._character, text) if "\\" in text else text

    def _character(self, match: re.Match[str]) -> str:
        string = match["string"] or match["named"] or match["letter"]
        name = match["two"] or match["any"] or match["quoted"]
        if string is not None:
            return self._strings.get(string, "")
        if name is None:
            sign = match["sign"] or ""
            return _SIGNS.get(sign, sign)
        code = re.fullmatch(r"u([0-9A-F]{4,5})(?:_[0-9A-F_]+)?", name)
        if code:
            return chr(int(code[1], 16))
        if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
            return normalize("NFC", name[1] + _ACCENTS[name[0]])
        return _CHARACTERS.get(name, name)
