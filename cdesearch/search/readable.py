"""Make the lines of a passage readable: Markdown as text, and without lines that say nothing about the answer."""

import re
from pathlib import PurePath

from cdesearch.store.schema import Chunk

# Formats that are Markdown, or that are converted to it
_MARKED_UP = {
    ".docx", ".epub", ".htm", ".html", ".ipynb", ".markdown", ".md", ".mdx", ".odp", ".odt", ".pptx", ".rtf", ".xhtml"
}  # fmt: skip

_HEADING = re.compile(r"\s*#{1,6}\s+(.*?)[\s#]*")
_FENCE = re.compile(r"\s*(```|~~~).*")
_MAIL = re.compile(r"(?:From|To|Cc|Bcc|Date|Sent|Subject|Reply-To|Message-ID): .*")
_FRONT_MATTER = re.compile(
    r"(?:subtitle|description|summary|alias|aliases|tags?|keywords|categories|authors?|source): .*"
)
_MARKUP = (
    (re.compile(r"!?\[\[([^\]|]*\|)?([^\]|]+)\]\]"), r"\2"),  # [[page]] and [[page|its name]]
    (re.compile(r"!?\[([^\]]*)\](?:\([^()\s]*(?:\s+\"[^\"]*\")?\)|\[[^\]]*\])"), r"\1"),
    (re.compile(r"(~~|==)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*"), r"\1"),
    (re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=[^\s*])\*(?![\w*])"), r"\1"),
)


def is_marked_up(path: str) -> bool:
    """Whether the text of a file is Markdown, in the file or after its conversion."""
    return PurePath(path.lower()).suffix in _MARKED_UP


def without_markup(line: str) -> str:
    """A line of Markdown as text: emphasis, links and the mark of a heading go; code stays as it is."""
    heading = _HEADING.fullmatch(line)
    text = heading[1] if heading else line
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    return text


def heading_of(line: str) -> str | None:
    """The text of a line that is a heading of Markdown, otherwise None."""
    found = _HEADING.fullmatch(line)
    return found[1] if found else None


def is_answer(line: str, chunk: Chunk) -> bool:
    """Whether a line can answer a query: no rule, no fence, and no heading that is shown above the passage."""
    if not re.search(r"\w", line) or _FENCE.fullmatch(line):
        return False
    return heading_of(line) not in (chunk.title, *chunk.trail)


def is_field(line: str, chunk: Chunk) -> bool:
    """Whether a line is a field in the head of a mail, or of the front matter of Markdown."""
    fields = (_MAIL, _FRONT_MATTER) if is_marked_up(chunk.path) else (_MAIL,)
    return any(field.fullmatch(line) for field in fields)
