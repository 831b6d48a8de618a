"""Write the tree of a page of HTML as Markdown."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from cdesearch.store.schema import Inline
from indexer.formats.format import MAX_TITLE, NOTE_MARK, Anchor

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

OF_THE_PAGE = {"header", "footer"}  # left out as well, unless they belong to a part of the page
PARTS = {"article", "main", "section", "blockquote", "aside"}
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = {
    "p", "div", "section", "article", "main", "blockquote", "dl", "dt", "dd", "ul", "ol", "figure", "body", "details",
    "address", "aside", "caption", "center", "fieldset", "figcaption", "footer", "form", "header", "hgroup", "hr",
    "legend", "menu", "summary", "table",
}  # fmt: skip
SPACED = {*BLOCKS, *HEADINGS, "br", "li", "tr", "td", "th", "pre"}  # they separate words in text of one line
APART = {"option", "text", "tspan", "button", "select"}  # blanks separate them from others
TYPED = (None, "", "text", "email", "tel", "url", "number", "date", "time", "month")  # inputs whose value is text
MAX_COLUMNS = 30  # of a table that are filled where a cell spans several
MAX_MARKED = 300  # characters of a link or an emphasis; a longer one is text
LISTS, INDENT = {"ul", "ol", "menu"}, "    "  # of an item within another
MAX_LEVELS = 8  # of lists in one another that have an indent of their own
CLOSING = '.,;:!?)"\u2019\u201d'  # signs after a word, which the mark of a note may follow
MAX_UNIT = 3  # letters of a unit or a function, such as kg or sin
MAX_CHAIN = 5  # elements from the parent of the mark of a note to its number
MAX_OPEN = 8  # links and emphases in one another
# The elements that are shown as such, by their names and others for the same
SHOWN = {name: name for name in ("a", "b", "code", "del", "em", "i", "kbd", "s", "strong", "sub", "sup", "u")}
SHOWN |= {"samp": "code", "tt": "code", "strike": "s", "cite": "em", "dfn": "em", "var": "em", "dt": "strong"}

# Their ids do not replace that of the block around them.
_INLINE = {"a", "span", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}
_SIGN_OF_LINK = re.compile(r"\u00b6\s*\Z")  # of a link from a heading to itself
_IMAGE = re.compile(r"(?!\w+:|//)[^\s<>]{1,500}\.(?:png|jpe?g|gif|webp|avif|svg)", re.IGNORECASE)  # of the same folder
_TARGET = re.compile(r"(?:https?://|mailto:|(?![\w+.-]+:|//))[^\s<>\"]{1,500}", re.IGNORECASE)


@dataclass(slots=True)
class _Inline:
    """An image, a link or an emphasis by the numbers of characters before its words and their last, without blanks."""

    node: int
    start: int
    element: str
    address: str = ""
    end: int = 0  # 0 until its element ends


class Writer:
    """Writes a tree as Markdown, node by node without recursion: pages may be nested thousands of elements deep."""

    def __init__(self, left_out: set[int], layout: set[int]) -> None:
        self._left_out = left_out
        self._layout = layout  # rows whose cells are written as blocks
        self._parts: list[str] = []
        self._items: list[int] = []  # where the list items that are open begin in `_parts`
        self._numbers: dict[int, int] = {}  # of the next item of each numbered list
        self._line_of: int | None = None  # the heading or row that is written in one line
        self._code_of: int | None = None  # the outermost <pre> that is open
        self._inner: list[str] = []  # pieces of that line, or of the code
        self._mark = ""  # with which that line begins
        self._n_inner = 0  # characters of that line so far, without white space
        self._cells: list[str] = []
        # By column, the number of rows, from the open one and from the next one on, in which an earlier cell stands
        self._above: dict[int, int] = {}
        self._below: dict[int, int] = {}
        self._inlines: list[_Inline] = []  # in the order of their starts
        self._open: list[_Inline] = []  # those whose element has not ended, of which all words are in one block
        self._n_characters = 0  # in `_parts`, without white space
        self._anchors: dict[int, str] = {}  # by the number of characters before each
        self._meanings = set[str]()  # of abbreviations, each of which is written once
        self.heading = ""

    def text(self) -> str:
        """The Markdown written so far."""
        lines = "".join(self._parts).split("\n")
        return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip(" \t") for line in lines)).strip()

    def anchors(self, text: str) -> tuple[Anchor, ...]:
        """The ids of elements and their offsets in `text`, whose white space differs from that of the parts."""
        found = zip(_offsets(text, self._anchors), self._anchors.values(), strict=True)
        return tuple(Anchor(offset, name) for offset, name in found if offset < len(text))

    def inlines(self, text: str) -> tuple[Inline, ...]:
        """The images, links and emphases in the order of `text`."""
        found = [one for one in self._inlines if one.element == "img" or one.end > one.start]
        numbers = sorted({number for one in found for number in (one.start, one.end - 1)})
        offset_of = dict(zip(numbers, _offsets(text, numbers), strict=True))
        inlines = []
        for one in found:
            start = offset_of[one.start]
            words = text[start : offset_of[one.end - 1] + 1] if one.end > one.start else ""
            if one.element == "img" or len(words) <= MAX_MARKED:
                inlines.append(Inline(start, words, one.element, one.address))
        return tuple(inlines)

    def write(self, body: "LexborNode", content: set[int]) -> None:
        """Append the text of the outermost of the `content` nodes, or of the whole body if there are none."""
        open_nodes = [(body, body.iter(include_text=True))]
        outermost = None if content else body.mem_id
        n_parts = 0  # open parts, whose headers and footers are kept
        while open_nodes:
            node, children = open_nodes[-1]
            child = next(children, None)
            if child is None:
                open_nodes.pop()
                n_parts -= node.tag in PARTS or node.mem_id in content
                if node.mem_id == outermost:
                    self._put("\n\n")
                    outermost = None
                elif outermost is not None:
                    self._leave(node)
            elif child.tag == "-text":
                if outermost is not None:
                    self._text(child.text())
            elif child.mem_id not in self._left_out and (n_parts or child.tag not in OF_THE_PAGE):
                n_parts += child.tag in PARTS or child.mem_id in content
                if outermost is not None:
                    self._enter(child)
                elif child.mem_id in content:
                    self._put("\n\n")
                    outermost = child.mem_id
                open_nodes.append((child, child.iter(include_text=True)))
            elif child.tag in APART and outermost is not None:
                self._text(" ")

    def _enter(self, node: "LexborNode") -> None:
        tag = node.tag or ""
        name = node.id or (node.attributes.get("name") if tag == "a" else None)
        if name:
            self._anchor(name, is_inner=tag in _INLINE or self._code_of is not None or self._line_of is not None)
        self._begin_inline(node, tag)
        if self._code_of is not None:
            self._break_code(tag)
        elif self._line_of is not None:
            self._inner += [" "] * (tag in SPACED)
            if tag in ("td", "th") and self._is_own_cell(node):
                self._pass_spanned()  # before the places of links in the cell are counted
                self._inner.clear()
        elif tag in HEADINGS or (tag == "tr" and node.mem_id not in self._layout):
            self._line_of, self._mark = node.mem_id, self._begin_row(node) if tag == "tr" else "#" * HEADINGS[tag]
            self._inner, self._cells, self._n_inner = [], [], len(self._mark)
        elif tag == "pre":
            self._code_of, self._inner = node.mem_id, []
        elif tag == "li":
            self._put(f"\n{INDENT * min(len(self._items), MAX_LEVELS)}{self._mark_of_item(node)} ")
            self._items.append(len(self._parts))
        elif tag == "br":
            self._put("\n")
        elif tag in BLOCKS or tag in ("tr", "td", "th"):
            self._below = {}
            self._put("" if self._items and tag in LISTS else "\n\n")  # an item begins a line itself
        if tag == "textarea" or (tag == "input" and node.attributes.get("type") in TYPED):
            self._text(f" {node.attributes.get('value') or node.attributes.get('placeholder') or ''} ")
        if tag in APART:
            self._text(" ")
        if tag in ("img", "figure", "area"):
            says = dict.fromkeys(node.attributes.get(name) for name in ("alt", "title"))
            description = " ".join(" ".join(filter(None, says)).split())
            self._image(node, description)
            self._text(f" {description} " if description else "")

    def _anchor(self, name: str, *, is_inner: bool) -> None:
        if len(name) <= MAX_TITLE and name.isprintable() and " " not in name:
            if is_inner:
                self._anchors.setdefault(self._n_characters, name)
            else:
                self._anchors[self._n_characters] = name

    def _image(self, node: "LexborNode", description: str) -> None:
        source = (node.attributes.get("src") or "").strip().replace(" ", "%20")
        if _IMAGE.fullmatch(source) and self._code_of is None:
            start = self._n_before()
            end = start + _n_characters(self._escaped(description))
            self._inlines.append(_Inline(node.mem_id, start, "img", source, end))

    def _begin_inline(self, node: "LexborNode", tag: str) -> None:
        """Begin a link or an emphasis, unless it is in code or leads nowhere."""
        if tag in SPACED and tag != "br":
            self._open.clear()
        if tag in ("a", "sup") and self._code_of is None and self._is_mark_of_note(node):
            self._text(" ")
        if tag == "sup" and self._is_power(node):
            self._text("^")
        elif tag in SHOWN and self._code_of is None and len(self._open) < MAX_OPEN:
            target = (node.attributes.get("href") or "").strip().replace(" ", "%20") if tag == "a" else ""
            if tag != "a" or _TARGET.fullmatch(target):
                self._open.append(_Inline(node.mem_id, self._n_before(), SHOWN[tag], target))
                self._inlines.append(self._open[-1])

    def _is_power(self, node: "LexborNode") -> bool:
        """Whether an element in superscript is a number right after another number, such as in 10 to the sixth."""
        return self._before()[-1:].isdigit() and node.text(deep=False).strip().lstrip("+-\u2212").isdigit()

    def _is_mark_of_note(self, node: "LexborNode") -> bool:
        """Whether an element is the number of a note right after a word, of which it would be a part."""
        before = self._before()
        if not before or not (before[-1].isalnum() or before[-1] in CLOSING):
            return False
        chain = [one for one in (node.parent, node) if one is not None]
        while len(chain) < MAX_CHAIN and chain[-1].child is not None:
            chain.append(chain[-1].child)
        mark = chain[-1].text(deep=False).strip()
        is_link = any("#" in (one.attributes.get("href") or "") for one in chain[:-1])
        if node.tag == "sup" and not is_link:
            is_word = before[-1] in CLOSING or len(before.split()[-1]) > MAX_UNIT  # not a power, as in kg2
            return is_word and bool(NOTE_MARK.match(before + mark[:9], len(before))) and mark[-1:].isalnum()
        return is_link and mark.isdigit() and len(mark) < 4 and (node.tag == "sup" or before[-1:].isalpha())

    def _before(self) -> str:
        """The last of what is written so far."""
        pieces = self._parts if self._line_of is self._code_of is None else self._inner
        return next(filter(None, reversed(pieces)), "")

    def _n_before(self) -> int:
        """The number of characters written so far, without white space."""
        return self._n_characters + (0 if self._line_of is None else self._n_inner)

    def _leave(self, node: "LexborNode") -> None:
        tag = node.tag or ""
        if tag in ("thead", "tbody", "tfoot") and self._line_of is None:
            self._below = {}  # no cell stands in two of them
        if self._open and self._open[-1].node == node.mem_id:
            self._open.pop().end = self._n_before()
        title = node.attributes.get("title") if tag == "abbr" else None
        if title and title not in self._meanings:
            self._meanings.add(title)
            self._text(f" ({title})")
        if self._code_of is not None:
            if node.mem_id == self._code_of:
                code = "".join(self._inner).strip("\n")
                self._put(f"\n\n```\n{code}\n```\n\n")
                self._code_of = None
            elif tag != "br":
                self._break_code(tag)
        elif self._line_of is not None:
            if tag in ("td", "th") and self._is_own_cell(node):
                self._add_cell(in_a_line("".join(self._inner)), _span(node, "colspan"), _span(node, "rowspan"))
                self._inner.clear()
            elif node.mem_id == self._line_of:
                self._end_line(node)
            elif tag in SPACED:
                self._inner.append(" ")
        elif tag == "li":
            self._end_item()
        elif tag in BLOCKS or tag in ("tr", "td", "th"):
            self._put("\n\n")

    def _text(self, text: str) -> None:
        if self._code_of is None and self._line_of is not None:
            text = _SIGN_OF_LINK.sub("", text)
        if self._code_of is not None or self._line_of is not None:
            self._inner.append(text)
            self._n_inner += _n_characters(self._escaped(text))
        else:
            self._put(re.sub(r"\s+", " ", text))

    def _put(self, text: str) -> None:
        begins_item = self._items and self._items[-1] == len(self._parts)
        if begins_item or (text[:1] == " " and self._parts and self._parts[-1][-1] in " \n"):
            text = text.lstrip()  # a line begins without blanks, and one blank is enough
        if text:
            self._parts.append(text)
            self._n_characters += _n_characters(text)

    def _mark_of_item(self, item: "LexborNode") -> str:
        """The number of an item in a numbered list, or a hyphen."""
        above = item.parent
        if above is None or above.tag != "ol":
            return "-"
        first = above.attributes.get("start") or ""
        number = self._numbers.get(above.mem_id, int(first) if first.isdecimal() and len(first) < 4 else 1)
        self._numbers[above.mem_id] = number + 1
        return f"{number}."

    def _is_own_cell(self, node: "LexborNode") -> bool:
        return node.parent is not None and node.parent.mem_id == self._line_of

    def _add_cell(self, text: str, n_columns: int, n_rows: int) -> None:
        """Add a cell to the open row, and an empty one for each further column that it spans."""
        first = len(self._cells)
        last = max(first, min(first + n_columns, MAX_COLUMNS) - 1) if self._mark else first
        cells = [self._escaped(text), *[""] * (last - first)]
        if self._mark and n_rows > 1 and last < MAX_COLUMNS:
            self._below |= dict.fromkeys(range(first, last + 1), n_rows - 1)
        self._cells += cells
        self._n_inner += len(cells)

    def _pass_spanned(self) -> None:
        """Add an empty cell for each of the next columns in which a cell of an earlier row stands."""
        while len(self._cells) in self._above:
            self._cells.append("")
            self._n_inner += 1

    def _begin_row(self, row: "LexborNode") -> str:
        """The mark between the cells of a row; a row of one cell is written as a line without marks."""
        self._above = self._below
        self._below = {column: left - 1 for column, left in self._above.items() if left > 1}
        cells = (cell for cell in row.iter() if cell.tag in ("td", "th") and cell.mem_id not in self._left_out)
        n_cells = len([*islice(cells, 2)])
        return "|" * (n_cells > 1 or (n_cells == 1 and 0 in self._above))

    def _escaped(self, text: str) -> str:
        return text.replace("|", "\\|") if self._line_of is not None and self._mark == "|" else text

    def _end_line(self, node: "LexborNode") -> None:
        if node.tag == "tr":
            if self._mark:
                self._pass_spanned()
            is_first = bool(self._parts) and self._parts[-1].endswith("\n\n")
            is_head = is_first and all(cell.tag == "th" for cell in node.iter())
            row = f"| {' | '.join(self._cells)} |" if self._mark else "".join(self._cells)
            self._put(f"\n{row}" + f"\n|{'--|' * len(self._cells)}" * (is_head and bool(self._mark)))
        else:
            title = in_a_line("".join(self._inner))
            if node.tag == "h1" and not self.heading:
                self.heading = title
            self._put(f"\n\n{self._mark} {title}\n\n")
        self._line_of = None

    def _break_code(self, tag: str) -> None:
        """Add a line end if each line of code is an element of its own."""
        starts_line = not self._inner or self._inner[-1].endswith("\n")
        if tag == "br" or (tag in SPACED and not starts_line):
            self._inner.append("\n")

    def _end_item(self) -> None:
        start = self._items.pop()
        while len(self._parts) > start:
            last = self._parts.pop().rstrip()
            if last:
                self._parts.append(last)
                break


def _span(cell: "LexborNode", name: str) -> int:
    value = cell.attributes.get(name) or ""
    return max(1, int(value)) if value.isdecimal() and len(value) < 5 else 1


def in_a_line(text: str) -> str:
    """The words of a text with one blank between them, without the sign of a link to its heading."""
    return " ".join(text.split()).removesuffix("¶").strip()


def _n_characters(text: str) -> int:
    return sum(map(len, text.split()))


def _offsets(text: str, numbers: Iterable[int]) -> Iterator[int]:
    """Yield where in `text` as many characters precede, without white space, as each of ascending numbers says."""
    words, n_characters = re.finditer(r"\S+", text), 0
    word = next(words, None)
    for number in numbers:
        while word is not None and number >= n_characters + len(word[0]):
            n_characters += len(word[0])
            word = next(words, None)
        yield len(text) if word is None else word.start() + max(0, number - n_characters)
