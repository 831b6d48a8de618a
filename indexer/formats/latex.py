"""Read LaTeX: prose without commands and comments, with headings as in Markdown and formulas as they are.

Each line of the text is a line of the file.
"""

import re
import unicodedata
from collections.abc import Iterator

from indexer.formats.encoding import decode
from indexer.formats.format import MAX_TITLE, Document, Format, OpenFile
from indexer.formats.markdown import marked_up_document

LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6}
VERBATIM = ("verbatim", "lstlisting", "minted", "Verbatim", "alltt")
FORMULAS = ("equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "alignat", "flalign")
MOST_NESTED = 6  # commands in the argument of a command
# Commands whose arguments are not text
SILENT = (
    "label", "ref", "eqref", "pageref", "autoref", "cref", "Cref", "cite", "citep", "citet", "citeauthor", "citeyear",
    "nocite", "parencite", "textcite", "autocite", "index", "glsadd", "vspace", "hspace", "includegraphics", "input",
    "include", "bibliography", "bibliographystyle", "usepackage", "documentclass", "setlength", "addtolength",
    "setcounter", "addtocounter", "pagestyle", "thispagestyle", "newcommand", "renewcommand", "providecommand", "def",
    "definecolor", "color", "pagenumbering", "hypersetup", "graphicspath", "tableofcontents", "newenvironment",
    "newtheorem", "rule", "phantom", "fontsize", "selectfont", "linespread", "addbibresource", "PassOptionsToPackage",
    "RequirePackage", "lstset",
)  # fmt: skip
SIGNS = {"&": "&", "%": "%", "$": "$", "#": "#", "_": "_", "{": "{", "}": "}", " ": " ", ",": " ", ";": " ", "\\": " ",
         "/": "", "-": "", "@": "", "!": "", ":": " "}  # fmt: skip
LETTERS = {"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł",
           "L": "Ł", "i": "i", "j": "j", "ldots": "…", "dots": "…", "textendash": "\u2013", "textemdash": "—", "S": "§",
           "LaTeX": "LaTeX", "TeX": "TeX", "textbackslash": "\\", "copyright": "©", "textasciitilde": "~"}  # fmt: skip
ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
           "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328", "r": "\u030a"}  # fmt: skip

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*")
_OPENER = re.compile(
    r"\\begin\{((?:%s)\*?)\}|(\\\[)|(\\\()|(?<!\\)(\$\$?)" % "|".join((*VERBATIM, *FORMULAS))  # noqa: UP031 (braces)
)
_HEADING = re.compile(rf"^[ \t]*\\({'|'.join(LEVELS)})\*?[ \t]*(?:\[[^\]\n]*\])?\{{((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}")
_TITLE = re.compile(r"\\title[ \t]*(?:\[[^\]\n]*\])?\{((?:[^{}]|\{[^{}]*\}){0,1000})\}")
_GROUP = r"\{((?:[^{}]|\{[^{}]{0,200}\}){0,500})\}"
# Their arguments may contain formulas, so they are replaced before the search for formulas.
_INDEX = re.compile(rf"\\(?:index[a-z]*|label|glsadd){_GROUP}")
_TITLE_OF_PDF = re.compile(rf"\\texorpdfstring[ \t]*{_GROUP}[ \t]*{_GROUP}")
_ARGUMENT = r"[ \t]*(?:\[[^\]]{0,500}\]|\{[^{}]{0,500}\}|\\[a-zA-Z]+(?=[{\[]))"
_SILENT = re.compile(rf"\\(?:{'|'.join(SILENT)})\*?(?![a-zA-Z])(?:{_ARGUMENT})*")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\{[^{}\n]{0,100}\}(?:\[[^\]\n]{0,500}\])?(?:\{[^{}\n]{0,200}\})?")
_HREF = re.compile(r"\\href\{[^{}]{0,1000}\}")
_ITEM = re.compile(r"\\item\b[ \t]*(?:\[([^\]\n]{0,500})\])?[ \t]*")
_ACCENT = re.compile(r"\\(?:(['`^\"~=.])[ \t]*|([cvuHkr])(?=[ \t{]))\{?[ \t]*(\\[ij](?![a-zA-Z])[ \t]?|[a-zA-Z])\}?")
_LETTER = re.compile(rf"\\({'|'.join(sorted(LETTERS, key=len, reverse=True))})(?![a-zA-Z])(?:\{{\}}|[ \t])?")
_WITH_ARGUMENT = re.compile(r"\\[a-zA-Z]+\*?(?:\[[^\]\n]{0,200}\])?\{([^{}]*)\}")
_COMMAND = re.compile(r"\\[a-zA-Z]+\*?[ \t]?")
_SIGN = re.compile(r"\\([^a-zA-Z\n])")
_DASHES = {"---": "—", "--": "\u2013", "``": "“", "''": "”", "~": " "}
_DASH = re.compile(r"---?|``|''|~")


class Latex(Format):
    """LaTeX documents and chapters of them."""

    suffixes = frozenset({".tex", ".latex", ".ltx"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        found = _TITLE.search(text)
        title = " ".join(_prose(_without_comments(found[1])).split())[:MAX_TITLE] if found else ""
        start = text.find("\\begin{document}")
        if start >= 0:  # the preamble contains settings
            text = "\n" * text.count("\n", 0, start) + text[start:]
            end = text.find("\\end{document}")
            text = text[:end] if end >= 0 else text
        yield marked_up_document(file, title, "".join(_converted(text)).split("\n"))


def _converted(text: str) -> Iterator[str]:
    """The text in pieces: prose, formulas and verbatim text."""
    if "\\" in text:
        text = _TITLE_OF_PDF.sub(r"\2", _INDEX.sub(_line_ends, text))
    text = "\n".join(_heading(line) if "\\" in line else line for line in text.split("\n"))
    position, missing = 0, set[str]()
    while match := _OPENER.search(text, position):
        environment, bracket, parenthesis, dollars = match.groups()
        line = text.rfind("\n", position, match.start()) + 1
        is_comment = _COMMENT.search(text, max(line, position), match.start()) is not None
        ending = f"\\end{{{environment}}}" if environment else "\\]" if bracket else "\\)" if parenthesis else dollars
        end = -1 if is_comment or ending in missing else text.find(ending, match.end())
        if end < 0:
            missing |= set() if is_comment else {ending}  # so that it is searched for only once
            stop = text.find("\n", match.end()) if is_comment else match.end()
            stop = len(text) if stop < 0 else stop
            yield _prose(_without_comments(text[position : stop if is_comment else match.start()]))
            position = stop
            continue
        yield _prose(_without_comments(text[position : match.start()]))
        end += len(ending)
        is_verbatim = environment and environment.rstrip("*") in VERBATIM
        yield (
            _fenced(text[match.start() : end], ending, match.end() - match.start())
            if is_verbatim
            else (text[match.start() : end])
        )
        position = end
    yield _prose(_without_comments(text[position:]))


def _fenced(block: str, ending: str, start: int) -> str:
    """A verbatim block as a code block of Markdown, on the same lines."""
    body = block[start : -len(ending)].split("\n")
    return "\n".join(["```", *body[1:-1], "```"]) if len(body) > 2 else f"`{' '.join(body).strip()}`"


def _without_comments(text: str) -> str:
    return _COMMENT.sub(r"\1", text)


def _prose(text: str) -> str:
    """Text without commands, on the same lines."""
    if "\\" in text:
        text = _ACCENT.sub(_accented, text)
        for pattern in (_SILENT, _HREF, _ENVIRONMENT):
            text = pattern.sub(_line_ends, text)
        text = text.replace("\\footnote{", " {")
        text = _ITEM.sub(lambda match: f"- {match[1]}: " if match[1] else "- ", text)
        text = _LETTER.sub(lambda match: LETTERS[match[1]], text)
        for _ in range(MOST_NESTED):
            text, count = _WITH_ARGUMENT.subn(r"\1", text)
            if not count:
                break
        text = _COMMAND.sub("", text)
        text = _SIGN.sub(lambda match: SIGNS.get(match[1], match[1]), _without_braces(text))
    else:
        text = _without_braces(text)
    return _DASH.sub(lambda match: _DASHES[match[0]], text)


def _heading(line: str) -> str:
    match = _HEADING.match(line)
    return f"{'#' * LEVELS[match[1]]} {match[2]}{line[match.end() :]}" if match else line


def _accented(match: re.Match[str]) -> str:
    letter = match[3].strip("\\ \t")
    return unicodedata.normalize("NFC", letter + ACCENTS[match[1] or match[2]])


def _line_ends(match: re.Match[str]) -> str:
    """What remains of a command that is left out: the ends of its lines."""
    return "\n" * match[0].count("\n")


def _without_braces(text: str) -> str:
    """Text without braces, unless a backslash precedes them."""
    return re.sub(r"(?<!\\)[{}]", "", text)
