"""Convert Rich Text Format to Markdown."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.markdown import converted_document, without_headings

START = b"{\\rtf"
# Groups that contain no text of the document. Other groups that are marked with `\*` are left out as well.
LEFT_OUT = {
    "fonttbl", "colortbl", "stylesheet", "listtable", "listoverridetable", "rsidtbl", "generator", "pict", "object",
    "themedata", "fldinst", "info", "pntext", "pntxta", "pntxtb", "atnid", "atnauthor", "nonshppict", "filetbl", "sp",
    "tc", "xe", "private", "ftnsep", "ftnsepc", "aftnsep", "aftnsepc", "nonesttables", "falt", "bkmkstart", "bkmkend",
}  # fmt: skip
# Groups whose text follows the paragraph in which they stand, and what is written before it
ASIDE = dict.fromkeys(
    ["footnote", "shptxt", *(f"{name}{page}" for name in ("header", "footer") for page in ("", "l", "r", "f"))], ""
) | {"annotation": "Comment: "}
READ_THOUGH_MARKED = {"shpinst", "annotation", "footnote"}
HIDDEN = {"deleted", "v"}  # properties of characters that are not shown
SIGNS = {
    "line": "\n", "tab": "\t", "emdash": "\u2014", "endash": "\u2013", "emspace": " ", "enspace": " ", "qmspace": " ",
    "bullet": "\u2022", "lquote": "\u2018", "rquote": "\u2019", "ldblquote": "\u201c", "rdblquote": "\u201d",
    "cell": " | ", "nestcell": " | ", "~": " ", "_": "-", "{": "{", "}": "}", "\\": "\\",
}  # fmt: skip
ENDS = dict.fromkeys(("par", "sect", "page", "\n", "\r"), "\n\n") | {"row": "\n", "nestrow": "\n"}
# Encodings of the character sets of fonts, by their numbers
CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030", 136: "big5", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
CODE_PAGES = {f"cp{number}" for number in (437, 850, 852, 855, 866, 874, 932, 936, 949, 950, *range(1250, 1259))}
WESTERN = "cp1252"

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|([^\\{}]+)", re.DOTALL
)


class Rtf(Format):
    """Rich Text Format. Paragraphs with an outline level are headings. A note or comment follows its paragraph."""

    suffixes = frozenset({".rtf"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        data = file.stream.read()
        if not data.startswith(START):
            raise UnreadableError("not an RTF file")
        reader = _Reader()
        reader.read(data)
        title = " ".join("".join(reader.title).split())
        yield converted_document(file.path, title, "".join(reader.done).strip())


@dataclass(frozen=True, slots=True)
class _State:
    """The state of the reader inside a group."""

    target: str = "text"  # where text goes: "text", "aside", "title", "fonts" or "" for nowhere
    hidden: frozenset[str] = frozenset()  # the properties in HIDDEN that are set
    encoding: str = ""  # of the font; "" for the encoding of the file
    n_fallback: int = 1  # bytes after a Unicode character, for readers that do not know it
    level: int = 0  # of the heading that the paragraph is; 0 for none
    in_table: bool = False


class _Reader:
    """Reads tokens one after the other. Groups are not read recursively, because they may be nested very deep."""

    def __init__(self) -> None:
        self.title: list[str] = []  # pieces of the title in the properties of the document
        self.done: list[str] = []  # the Markdown of paragraphs, and the blanks between them
        self._state = _State()
        self._above: list[_State] = []
        self._encoding = WESTERN
        self._fonts: dict[int, str] = {}
        self._font = 0  # that the table of fonts defines at the moment
        self._is_marked = False  # whether the token before was `\*`
        self._to_skip = 0  # bytes of the fallback of a Unicode character
        self._bytes = bytearray()  # of the paragraph, not decoded yet
        self._paragraph: list[str] = []
        self._asides: list[list[str]] = []  # pieces of each text that follows the paragraph
        self._read_asides = {""}

    def read(self, data: bytes) -> None:
        """Read until the outermost group ends."""
        position = 0
        while match := _TOKEN.match(data, position):
            position = match.end()
            word, argument, code, sign, bracket, text = match.groups()
            if word == b"bin":
                position += max(0, int(argument or 0))
            elif text is not None or code is not None:
                added = bytes.fromhex(code.decode()) if text is None else text.translate(None, b"\r\n\0")
                skipped = min(self._to_skip, len(added))
                self._to_skip -= skipped
                self._is_marked = False
                if self._state.target in ("text", "aside", "title"):
                    self._bytes += added[skipped:]
            elif bracket is not None:
                self._flush()
                self._to_skip = 0
                if bracket == b"{":
                    self._above.append(self._state)
                elif self._above:
                    self._state = self._above.pop()
                if not self._above:
                    break
            elif self._to_skip:
                self._to_skip -= 1
            else:
                self._control((word or sign).decode("latin-1"), int(argument) if argument else None)
        self._flush()
        self._end("\n\n")

    def _flush(self) -> None:
        """Decode the bytes before a token that may change the encoding."""
        if self._bytes:
            self._put(self._bytes.decode(self._state.encoding or self._encoding, "replace"))
            self._bytes.clear()

    def _put(self, text: str) -> None:
        if self._state.hidden:
            return
        if self._state.target == "text":
            self._paragraph.append(text)
        elif self._state.target == "aside":
            self._asides[-1].append(text)
        elif self._state.target == "title":
            self.title.append(text)

    def _end(self, blank: str) -> None:
        """End a paragraph, or a row of a table, with `blank` after it."""
        text = "".join(self._paragraph).strip()
        self._paragraph.clear()
        if blank == "\n":
            text = text.removesuffix("|").rstrip()
        elif text and self.done and self.done[-1] == "\n":  # the first paragraph after a table
            self.done.append("\n")
        if text:
            level = self._state.level
            self.done += [f"{'#' * level} {' '.join(text.split())}" if level else without_headings(text), blank]
        if blank == "\n\n":
            for pieces in self._asides:
                text = without_headings("".join(pieces).strip())
                if text not in self._read_asides:  # each section has its headers again
                    self._read_asides.add(text)
                    self.done += [text, blank]
            self._asides.clear()

    def _control(self, name: str, number: int | None) -> None:
        is_marked, self._is_marked = self._is_marked, name == "*"
        state = self._state
        if name == "u" and number is not None:
            self._flush()
            self._put(chr(number % 0x10000))
            self._to_skip = state.n_fallback
        elif name == "title" and not state.target:
            self._state = replace(state, target="title")
        elif name in LEFT_OUT or (is_marked and name not in READ_THOUGH_MARKED):
            self._flush()
            self._state = replace(state, target="fonts" if name == "fonttbl" and state.target == "text" else "")
        elif name in ASIDE and state.target in ("text", "aside"):
            self._flush()
            self._state = replace(state, target="aside")
            self._asides.append([ASIDE[name]])
        elif name in HIDDEN:
            self._flush()
            self._state = replace(state, hidden=state.hidden - {name} if number == 0 else state.hidden | {name})
        elif name in SIGNS:
            self._flush()
            self._put(SIGNS[name])
        elif name in ENDS:
            self._flush()
            if state.target == "text" and state.in_table and ENDS[name] == "\n\n":
                self._put(" ")
            elif state.target == "text":
                self._end(ENDS[name])
            elif state.target == "aside":
                self._put("\n")
        else:
            self._set(name, number or 0)

    def _set(self, name: str, value: int) -> None:
        """Change the state of the group by a control word without text of its own."""
        if name == "f" and self._state.target == "fonts":
            self._font = value
        elif name == "fcharset":
            self._fonts[self._font] = CHARSETS.get(value, "")
        elif name == "ansicpg":
            self._encoding = f"cp{value}" if f"cp{value}" in CODE_PAGES else WESTERN
        elif name in ("f", "plain"):
            self._flush()
            if name == "f":
                self._state = replace(self._state, encoding=self._fonts.get(value, ""))
            else:
                self._state = replace(self._state, encoding="", hidden=frozenset())
        elif name == "uc":
            self._state = replace(self._state, n_fallback=max(0, min(value, 10)))
        elif name == "pard":
            self._state = replace(self._state, level=0, in_table=False)
        elif name == "outlinelevel":
            self._state = replace(self._state, level=min(value + 1, 6) if 0 <= value < 9 else 0)
        elif name == "intbl":
            self._state = replace(self._state, in_table=True)
