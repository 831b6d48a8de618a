"""Read AsciiDoc: titles become Markdown headings, and comments, attributes and macros are left out, line by line."""

import re
from collections.abc import Iterator

from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.markdown import marked_up_document

_TITLE = re.compile(r"(={1,6})[ \t]+(\S.*)")
_UNDERLINES = "=-~^+"  # of the levels of titles in the older style
_UNDERLINE = re.compile(r"^([=\-~^+])\1{3,}[ \t]*$")
_VERBATIM = re.compile(r"^(-{4,}|\.{4,}|\+{4,}|`{3,}\w*)[ \t]*$")
_COMMENTS = re.compile(r"^/{4,}[ \t]*$")
_LEFT_OUT = re.compile(
    r"^(?://(?!/)|:!?[\w-]+!?:(?:[ \t]|$)|\[\[[^\]]*\]\][ \t]*$|\[[^\]\n]*\][ \t]*$"
    r"|(?:include|ifdef|ifndef|ifeval|endif)::"
    r"|\|={3,}|[*=_]{4,}[ \t]*$|--[ \t]*$|\+[ \t]*$|'{3,}[ \t]*$|<{3,}[ \t]*$)"
)
_BLOCK_TITLE = re.compile(r"^\.(?=[^\s.])")
_IMAGE = re.compile(r"(?:image|video|audio)::?([^\s\[\]]{1,500})\[([^\]\n]{0,500})\]")
_LINK = re.compile(r"(?:(?:link|xref|mailto):|(?=https?://|\{[\w-]{1,60}\}))([^\s\[\]]{1,500})\[([^\]\n]{1,500})\]")
_LINE_BREAK = re.compile(r"[ \t]\+$")
_REFERENCE = re.compile(r"<<([^<>,\n]{1,300})(?:,[ \t]*([^<>\n]{1,300}))?>>")
_INDEX = re.compile(r"\(\(\([^()\n]{0,300}\)\)\)")
_TERM = re.compile(r"\(\(([^()\n]{0,300})\)\)")
_ANCHOR = re.compile(r"\[\[[^\]\n]{0,300}\]\]")
_MACRO = re.compile(r"\b(?:footnote|kbd|btn|menu|indexterm2?|pass|stem|latexmath):[^\s\[\]]{0,200}\[([^\]\n]{0,500})\]")


class AsciiDoc(Format):
    """AsciiDoc."""

    suffixes = frozenset({".adoc", ".asciidoc", ".asc"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        if file.name.lower().endswith(".asc") and text.startswith("-----BEGIN "):
            yield Document(file.path, file.path, file.name, text, "text", has_lines=True)  # a signature or a key
        else:
            yield marked_up_document(file, "", _converted(text.split("\n")))


def _converted(lines: list[str]) -> list[str]:
    """The lines as Markdown."""
    written: list[str] = []
    delimiter = ""  # that ends the verbatim block or the comment which is open
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if delimiter:
            is_comment = delimiter.startswith("/")
            is_end = line.rstrip() == delimiter
            written.append("" if is_comment else "```" if is_end else line)
            delimiter = "" if is_end else delimiter
        elif _COMMENTS.match(line):
            delimiter = line.rstrip()
            written.append("")
        elif _is_underline(line, lines[number - 1] if number else ""):
            written.append("")
        elif _VERBATIM.match(line):
            delimiter = re.match(r"`*", line)[0] or line.rstrip()  # type: ignore[index]
            written.append("```")
        elif _LEFT_OUT.match(line):
            written.append("")
        elif _is_underline(following, line):
            written.append(f"{'#' * (_UNDERLINES.index(following[0]) + 1)} {_plain(line)}")
        else:
            title = _TITLE.match(line)
            written.append(
                f"{'#' * len(title[1])} {_plain(_without_closing(title[2]))}"
                if title
                else _plain(_BLOCK_TITLE.sub("", line))
            )
    return written


def _is_underline(line: str, title: str) -> bool:
    """Whether a line underlines the `title` before it, whose length may differ a little."""
    return bool(
        _UNDERLINE.match(line) and title.strip() and title[0].isalnum() and abs(len(line.rstrip()) - len(title)) <= 3
    )


def _without_closing(title: str) -> str:
    """A title without the signs that may close it, as in `== Title ==`."""
    title = title.rstrip(" \t")
    shorter = title.rstrip("=")
    return shorter.rstrip(" \t") if shorter.endswith((" ", "\t")) else title


def _plain(line: str) -> str:
    """A line of prose without macros; a link becomes its text."""
    if "((" in line:
        line = _TERM.sub(r"\1", _INDEX.sub("", line))
    if "[" in line:
        line = _IMAGE.sub(lambda match: match[2] or match[1], line)
        line = _LINK.sub(r"\2", line)
        line = _MACRO.sub(r"\1", line)
        line = _ANCHOR.sub("", line)
    line = _LINE_BREAK.sub("", line)
    return _REFERENCE.sub(lambda match: match[2] or match[1], line) if "<<" in line else line
