"""Make the lines of a passage readable: Markdown as text, and without lines that say nothing about the answer."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter
from pathlib import PurePath
from typing import Literal

from cdesearch.store.schema import Chunk
from cdesearch.words.characters import unescaped

# Formats that are Markdown, and others whose markup becomes that of Markdown. Lists of them would be a page.
_WRITTEN = frozenset(".adoc .asc .asciidoc .canvas .ipynb .markdown .md .mdx .org .qmd .rmd .rst".split())  # noqa: SIM905
# Formats of which only headings, lists, tables and blocks of code become Markdown
_CONVERTED = frozenset(
    ".doc .docm .docx .eml .emlx .enex .epub .htm .html .mbox .mht .mhtml .msg .odp .odt .pptx .rtf .xhtml".split()  # noqa: SIM905
)
_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")

_HEADING = re.compile(r"\s*#{1,6}\s+(.*?)[\s#]*")
_FENCE = re.compile(r"\s*(?:```+([^`]*)|~~~+(.*))")
_RULE = re.compile(r"(?=.*(?:--|==|\*\*\*|___))[\s|:=*_-]+")  # also the line below the head of a table
_MAIL = re.compile(r"(?:From|To|Cc|Bcc|Date|Sent|Subject|Reply-To|Message-ID): .*")
_FRONT_MATTER = re.compile(
    r"(?:subtitle|description|summary|alias|aliases|tags?|keywords|categories|authors?|source): .*"
)
_ROW = re.compile(r"\s*\|(.*)\|\s*")
_CELL = re.compile(r"(?<!\\)\|")
# Code, and characters after a backslash, in which nothing else is markup. They are replaced while the rest is changed.
_LITERAL = re.compile(
    r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)|\\(?P<escaped>[\\`*_{}\[\]()#+.!|~<>&=^%-])"
)
_FIRST, _MOST = 0xF0000, 60_000  # characters that stand for them, which no text has
_LITERALS = re.compile(rf"[{chr(_FIRST)}-{chr(_FIRST + _MOST - 1)}]")
_TARGET = r"\((?:<[^<>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+(?:\"[^\"]*\"|'[^']*'))?\)"
_TAGS = "a|abbr|b|big|center|cite|code|del|details|div|em|font|i|ins|kbd|mark|p|q|s|small|span|strong|su[bp]|summary|u"
_WITHIN = r"[^`\n]*\n(?!\s*\n)[^`\n]*"  # two lines of a paragraph
_CODE_OVER_LINES = re.compile(
    r"(?<!`)(`{1,2})(?!`)[^`\n]+(?<!`)\1(?!`)"  # within a line: it stays, and its last mark begins nothing
    rf"|(?<!`)(`{{1,2}})(?!`)(?P<code>{_WITHIN})(?<!`)\2(?!`)"
)
_LINK_OVER_LINES = re.compile(rf"!?\[([^\[\]\n]*\n(?!\s*\n)[^\[\]\n]*)\]{_TARGET}")
_ALTERNATIVE = re.compile(r"""\salt=(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)  # text of a picture
_MARKUP: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"<!--(.{0,2000}?)-->|^\s*<!--\s*|^\s*-->\s*$"), r"\1"),
    (re.compile(r"%%\s*(\S.*?)\s*%%"), r"\1"),  # a comment of Obsidian
    (re.compile(r"^\s*(?:>\s*)+\[!\w+\][+-]?\s*|^\s*\[\^[^\[\]\s]+\]:\s*|^:\s+|\s\^[A-Za-z][\w-]+$"), ""),
    (re.compile(r"<img\s[^<>]*>", re.IGNORECASE), lambda found: "".join(chain(*_ALTERNATIVE.findall(found[0])))),
    (re.compile(rf"</?(?:{_TAGS})(?:\s[^<>]*)?/?>", re.IGNORECASE), ""),
    (re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+\[ \]\s"), "\\1\N{BALLOT BOX} "),
    (re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+\[[xX]\]\s"), "\\1\N{BALLOT BOX WITH CHECK} "),
    (re.compile(r"!?\[\[(?:[^\]|]*\|)?([^\]|]+)\]\]"), r"\1"),  # [[page]] and [[page|its name]]
    (re.compile(rf"!\[([^\[\]]*)\]{_TARGET}"), r"\1"),  # before links, whose text may be an image
    (re.compile(rf"\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:{_TARGET}|\[[^\[\]]*\])"), r"\1"),
    (re.compile(r"\[\^[^\[\]\s]+\](?!:)"), ""),  # a footnote
    (re.compile(r"<((?:https?://|mailto:)[^<>\s]+|[^<>\s@]+@[^<>\s@]+)>"), r"\1"),
    (re.compile(r"<br\s*/?>"), " "),
    (re.compile(r"(~~|==)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*"), r"\1"),
    (re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=[^\s*])\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<!\w)__(?=[^\s_])([^_]*\s[^_]*)(?<=\S)__(?!\w)"), r"\1"),  # but not __init__
    (re.compile(r"(?<!\w)_(?=[^\s_])([^_]+)(?<=\S)_(?!\w)"), r"\1"),
)


def is_marked_up(path: str) -> bool:
    """Whether the text of a file is Markdown, in the file or after its conversion."""
    return suffix_of(path) in _WRITTEN or is_converted(path)


def is_converted(path: str) -> bool:
    """Whether only the structure of a text is Markdown, and its other signs stand for themselves."""
    return suffix_of(path) in _CONVERTED


@lru_cache(maxsize=1000)  # asked for each line of each hit
def suffix_of(path: str) -> str:
    """The suffix in lower case of the name of a file, without that of its compression."""
    name = PurePath(path.lower())
    return (name.with_suffix("") if name.suffix in _COMPRESSIONS else name).suffix


def lines_as_text(path: str, lines: Sequence[str]) -> list[str]:
    """Lines of a file that follow each other as text: of Markdown, without markup.

    Code stays as it is. Its fences and other lines that are only drawn become empty.
    """
    if not is_marked_up(path):
        return [*lines]
    texts: list[str] = []
    for kind, group in groupby(zip(_kinds(lines), lines, strict=True), key=itemgetter(0)):
        own = [line for _, line in group]
        if kind == "prose" and is_converted(path):
            own = [_without_structure(line) for line in own]
        elif kind == "prose":  # marks of code and links may begin in one line and end in the next
            joined = _CODE_OVER_LINES.sub(lambda found: found["code"] or found[0], "\n".join(own))
            joined = _LINK_OVER_LINES.sub(r"\1", joined)
            own = [without_markup(line) for line in joined.split("\n")]
        texts += [""] * len(own) if kind == "fence" else own
    return texts


def _kinds(lines: Sequence[str]) -> Iterator[Literal["prose", "code", "fence"]]:
    """Yield what each line of Markdown is."""
    fences = [found for line in lines if (found := _FENCE.fullmatch(line))]
    is_code = len(fences) % 2 == 1 and not any(fences[0].groups())  # the first line is already code
    for line in lines:
        is_fence = bool(_FENCE.fullmatch(line))
        yield "fence" if is_fence else "code" if is_code else "prose"
        is_code = is_code is not is_fence


def headings_as_text(path: str, headings: Sequence[str]) -> list[str]:
    """The title and headings above a text of a file that have words, without the markup of Markdown."""
    texts = map(without_markup, headings) if suffix_of(path) in _WRITTEN else headings
    return [text for text in texts if text]


@lru_cache(maxsize=1000)  # the lines of a hit are asked for several times
def without_markup(line: str) -> str:
    """A line of Markdown as text: marks, targets of links and lines between rows go, and cells are divided by dots."""
    text = _without_structure(line)
    literals: list[str] = []

    def set_aside(found: re.Match[str]) -> str:
        literals.append((found["escaped"] or found["code"]).strip())
        return chr(_FIRST + len(literals) - 1)

    text = _LITERAL.sub(set_aside, text, count=_MOST)
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    text = unescaped(text)
    return _LITERALS.sub(lambda found: literals[at] if (at := ord(found[0]) - _FIRST) < len(literals) else "", text)


def _without_structure(line: str) -> str:
    """A line without the marks of a heading or of a row of a table; empty for a line between rows."""
    if _RULE.fullmatch(line):
        return ""
    heading = _HEADING.fullmatch(line)
    text = heading[1] if heading else line
    if row := _ROW.fullmatch(text):
        cells = (cell.strip().replace("\\|", "|") for cell in _CELL.split(row[1]))
        text = " · ".join(filter(None, cells))
    return text


def heading_of(line: str) -> str | None:
    """The text of a line that is a heading of Markdown, otherwise None."""
    found = _HEADING.fullmatch(line)
    return found[1] if found else None


def is_answer(line: str, chunk: Chunk) -> bool:
    """Whether a line can answer a query: no rule, no fence, and nothing that is shown above the passage."""
    if not re.search(r"\w", line) or _FENCE.fullmatch(line):
        return False
    return (heading_of(line) or line.strip()) not in (chunk.title, *chunk.trail)


def is_field(line: str, chunk: Chunk) -> bool:
    """Whether a line is a field in the head of a mail, or of the front matter of Markdown."""
    fields = (_MAIL, _FRONT_MATTER) if is_marked_up(chunk.path) else (_MAIL,)
    return any(field.fullmatch(line) for field in fields)
