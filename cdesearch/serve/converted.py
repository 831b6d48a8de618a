"""Write the text of a chunk as Markdown with HTML in it: its images, links and emphases become elements.

A text that was converted from another format has headings, lists, tables and blocks of code as Markdown. All else in it
is shown as it is, so each of its other signs becomes an entity.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from cdesearch.search.readable import is_converted
from cdesearch.store.schema import Chunk, Inline

SHOWN = frozenset({"img", "a", "b", "code", "del", "em", "i", "kbd", "s", "strong", "sub", "sup", "u"})
LEVEL = "    "  # of an item within another
_FENCED = re.compile(r"\n?(^```.*?^```$)\n?", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"( *)(?:- |\d{1,3}\. )")
_STRUCTURE = re.compile(r"#{1,6} |- |\d{1,3}\. |")  # what begins a line of a heading or of a list
# At the start of a line, what would make it something else
_BEGINS = re.compile(r"(?P<number>\d{1,9})[.)](?=\s|\Z)|\+(?=\s|\Z)|[=-]+\s*\Z|~~~")
_SIGN = re.compile(r"https?://[^\s<>\[\]\"`|]+|\\\||[\\`*_\[\]<>&~!]")  # an address and a sign of a cell are two kinds


def markdown_of(chunk: Chunk, fence: str = "", start: int = 0) -> str:
    """The text of a chunk from `start` on as Markdown with elements of HTML.

    `fence` is that of the code within which it begins.
    """
    body = chunk.body
    letters = _literal(body, is_code=bool(fence)) if is_converted(chunk.path) else body
    parts, at = list[str](), start
    for place, _, _, end, tag in sorted(_tags(chunk.inlines, body)):
        if place >= at:
            parts += [*letters[at:place], tag]
            at = end
    written = "".join([*parts, *letters[at:]])
    return _levelled(written) if is_converted(chunk.path) and not fence else written


def _levelled(text: str) -> str:
    """The text with each item of a list at most one level below the one before, as a chunk may begin within a list."""
    lines, above = list[str](), list[int]()  # the indents of the open items
    for part in _FENCED.split(text):
        for line in [part] if part.startswith("```") else part.split("\n"):
            if item := _ITEM.match(line):
                above = [indent for indent in above if indent < len(item[1])]
                line = f"{LEVEL * len(above)}{line.lstrip(' ')}"  # noqa: PLW2901
                above.append(len(item[1]))
            lines.append(line)
    return "\n".join(lines)


def _literal(body: str, *, is_code: bool = False) -> Sequence[str]:
    """For each character of a converted text what stands for it in Markdown, so that only its structure is markup."""
    letters, start = list(body), 0
    for line in body.split("\n"):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            _make_literal(letters, line, start)
        start += len(line) + 1
    return letters


def _make_literal(letters: list[str], line: str, start: int) -> None:
    is_row = line[:1] == "|" and line[-1:] == "|"
    structure = _STRUCTURE.match(line)
    first = structure.end() if structure else 0
    if begins := _BEGINS.match(line, first):
        sign = begins.end("number") if begins["number"] else begins.start()
        letters[start + sign] = _entity(line[sign])
    for found in _SIGN.finditer(line, first):
        at = start + found.start()
        if found[0] == "\\|" and is_row:
            letters[at], letters[at + 1] = "", _entity("|")
        elif len(found[0]) <= len("\\|"):
            letters[at] = _entity(found[0][0])


def _tags(inlines: Iterable[Inline], body: str) -> Iterator[tuple[int, bool, int, int, str]]:
    """Yield the tags of inline elements: where each begins, its order there, where the text goes on, and the tag."""
    for number, (start, words, element, address, _) in enumerate(inlines):
        end = start + len(words)
        source = escape(address).replace("|", _entity("|"))  # in a cell of a table
        if element not in SHOWN or not (words or element == "img") or not body.startswith(words, start):
            continue
        if element == "img":
            before = "\n\n" if start == len(body) else ""  # the text may end with a block of code or a table
            gap = "\n\n" if not words and body[start - 1 : start] in ("", "\n") else ""
            described = escape(words.replace("\\|", "|")).replace("|", _entity("|"))
            yield start, True, number, end, f'{before}<img src="{source}" alt="{described}">{gap}'
        else:
            href = f' href="{source}"' if element == "a" else ""
            yield start, True, number, start, f"<{element}{href}>"
            yield end, False, -number, end, f"</{element}>"


def _entity(sign: str) -> str:
    return f"&#{ord(sign)};"
