"""Read Org, AsciiDoc and LaTeX as Markdown: a table of patterns for each language.

Each line of the text is a line of the file. Lines and marks that have no text, such as comments, become empty.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from indexer.formats.code import check_no_private_key
from indexer.formats.encoding import decode
from indexer.formats.format import MAX_TITLE, Document, Format, OpenFile
from indexer.formats.markdown import marked_up_document, without_headings

Change = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]

_ADORNMENT = re.compile(r"([=\-~^\"'`#*+.:])\1{2,}[ \t]*$")
_NEVER = re.compile(r"(?!)")


def _last_group(match: re.Match[str]) -> str:
    """The text of a link, or else its address."""
    return next(filter(None, reversed(match.groups())), "")


class _Markup(Format):
    """A language whose headings are marked at the start of a line, or underlined."""

    heading: ClassVar[re.Pattern[str]] = _NEVER  # the mark before a heading, and the heading
    levels: ClassVar[dict[str, int]] = {}  # of marks whose level is not their length
    underlines: ClassVar[str] = ""  # signs below headings, in the order of their levels
    lengths: ClassVar[tuple[int, int]] = 0, 0  # how much longer than the heading an underline may be
    title: ClassVar[re.Pattern[str]] = _NEVER  # of the document
    # What begins a block that is not prose, perhaps with its language; what ends it, where {} is the name of the block;
    # and what is written for both: "```", "" to leave the block out, or None to keep it as it is
    blocks: ClassVar[Sequence[tuple[re.Pattern[str], str, str | None]]] = ()
    left_out: ClassVar[re.Pattern[str]] = _NEVER  # lines
    changes: ClassVar[Sequence[Change]] = ()  # of prose and headings
    title_changes: ClassVar[Sequence[Change]] = ()  # of headings whose blanks are single

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        check_no_private_key(file, text)
        found = self.title.search(text)
        title = self._title(found[1])[:MAX_TITLE] if found else ""
        yield marked_up_document(file, title, list(self._converted(self._body(text).split("\n"))))

    def _body(self, text: str) -> str:
        return text

    def _converted(self, lines: list[str]) -> Iterator[str]:
        end: re.Pattern[str] | None = None  # of the block that is open
        mark: str | None = None
        underline = ""
        for line, below in zip(lines, [*lines[1:], ""], strict=True):
            if end is not None:
                is_end = end.search(line) is not None
                yield line if mark is None or (mark and not is_end) else mark
                end = None if is_end else end
            elif underline:  # the line above is a heading
                underline = ""
                yield ""
            elif (block := self._block(line)) is not None:
                end, mark, language = block
                yield line if mark is None else mark + language
            elif self.left_out.match(line):
                yield ""
            elif underline := self._underline(line, below):
                yield f"{'#' * (self.underlines.index(underline) + 1)} {self._title(line)}"
            else:
                found = self.heading.match(line)
                if found is None:
                    yield without_headings(self._plain(line))
                else:
                    level = self.levels.get(found[1], len(found[1]))
                    rest = self._plain(line[found.end() :])  # of the line, which LaTeX may have
                    yield f"{'#' * min(6, level)} {self._title(found[2])} {rest.lstrip()}".rstrip()

    def _block(self, line: str) -> tuple[re.Pattern[str], str | None, str] | None:
        """The end, the mark and the language of the block that begins with this line; None if none does."""
        for begin, end, mark in self.blocks:
            if (found := begin.match(line)) is not None:
                name, language = found[1], found.groupdict().get("language") or ""
                return re.compile(end.replace("{}", re.escape(name)), re.IGNORECASE), mark, language
        return None

    def _underline(self, line: str, below: str) -> str:
        """The sign of the line below if it underlines this one, else ""."""
        found = _ADORNMENT.match(below) if below[:1] and below[0] in self.underlines else None
        least, most = self.lengths
        title = line.rstrip()
        is_title = (title[:1].isalnum() or title[:1] in tuple(":`*|_")) and not _ADORNMENT.match(title)
        return found[1] if found and is_title and least <= len(below.rstrip()) - len(title) <= most else ""

    def _title(self, text: str) -> str:
        title = " ".join(self._plain(text).split())
        for pattern, replacement in self.title_changes:
            title = pattern.sub(replacement, title)
        return title

    def _plain(self, line: str) -> str:
        for pattern, replacement in self.changes:
            line = pattern.sub(replacement, line)
        return line


class Org(_Markup):
    """Org files of Emacs, without settings, properties and comments."""

    suffixes = frozenset({".org"})
    heading = re.compile(r"(\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAIT(?:ING)?|CANCELL?ED)[ \t]+)?(?:\[#\w\][ \t]*)?(.*)$")
    title = re.compile(r"^#\+title:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
    blocks = (
        (
            re.compile(r"[ \t]*#\+begin_(src|example|export)\b[ \t]*(?P<language>[\w+-]*)", re.IGNORECASE),
            r"^[ \t]*#\+end_{}\b",
            "```",
        ),
        (re.compile(r"[ \t]*#\+begin_(comment)\b", re.IGNORECASE), r"^[ \t]*#\+end_{}\b", ""),
    )
    left_out = re.compile(
        r"[ \t]*(?:#(?:[ \t]|$)|#\+(?!caption|(?:author|filetags):)\w+|:\w[\w+-]*:(?:[ \t]|$)|CLOCK:)", re.IGNORECASE
    )
    changes = (
        (re.compile(r"^[ \t]*#\+(?:caption|author|filetags):[ \t]*", re.IGNORECASE), ""),
        (re.compile(r"\[\[([^\]\[\n]{1,2000})\](?:\[([^\]\[\n]{1,2000})\])?\]"), _last_group),
        # Code, as Markdown writes it
        (re.compile(r"""(?<![^\s({'"-])([=~])(?=[^\s,])([^`\n]{1,300}?)(?<=\S)\1(?![^\s)}'".,:;!?\]|-])"""), r"`\2`"),
    )
    title_changes = ((re.compile(r"`([^`]+)`"), r"\1"),)

    def _converted(self, lines: list[str]) -> Iterator[str]:
        for line in super()._converted(lines):
            yield line[1:] if line.startswith((",*", ",#")) else line  # as a block writes what is no heading


class AsciiDoc(_Markup):
    """AsciiDoc, without comments, attributes and macros; a link becomes its text."""

    suffixes = frozenset({".adoc", ".asciidoc", ".asc"})
    heading = re.compile(r"([=#]{1,6})[ \t]+(\S.*)$")
    underlines = "=-~^+"
    lengths = -3, 3
    blocks = (
        (re.compile(r"(`{3,})(?P<language>\w*)[ \t]*$"), r"^{}[ \t]*$", "```"),
        (re.compile(r"(-{4,}|\.{4,}|\+{4,})[ \t]*$"), r"^{}[ \t]*$", "```"),
        (re.compile(r"(/{4,})[ \t]*$"), r"^{}[ \t]*$", ""),
    )
    left_out = re.compile(
        r"(?://(?!/)|:!?[\w-]+!?:(?:[ \t]|$)|\[\[[^\]]*\]\][ \t]*$|\[[^\]\n]*\][ \t]*$"
        r"|(?:include|ifdef|ifndef|ifeval|endif)::"
        r"|\|={3,}|[*=_]{4,}[ \t]*$|--[ \t]*$|\+[ \t]*$|'{3,}[ \t]*$|<{3,}[ \t]*$)"
    )
    changes = (
        # Terms for the index, anchors, the end of a line that is kept, and the sign before the title of a block
        (re.compile(r"\(\(\([^()\n]{0,300}\)\)\)|\[\[[^\]\n]{0,300}\]\]|[ \t]\+$|^\.(?=[^\s.])"), ""),
        (  # what becomes its text, or else its address: terms, images, links, other macros, references
            re.compile(
                r"\(\(([^()\n]{0,300})\)\)|(?:image|video|audio)::?([^\s\[\]]{1,500})\[([^\]\n]{0,500})\]"
                r"|(?:(?:link|xref|mailto):|(?=https?://|\{[\w-]{1,60}\}))[^\s\[\]]{1,500}\[([^\]\n]{1,500})\]"
                r"|\b(?:footnote|kbd|btn|menu|indexterm2?|pass|stem|latexmath):[^\s\[\]]{0,200}\[([^\]\n]{0,500})\]"
                r"|<<([^<>,\n]{1,300})(?:,[ \t]*([^<>\n]{1,300}))?>>"
            ),
            _last_group,
        ),
    )
    title_changes = ((re.compile(r" =+$"), ""),)


# What LaTeX writes within a line
LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6}
# Commands whose arguments are not text
_SILENT = (
    "ref", "eqref", "pageref", "autoref", "cref", "Cref", "cite", "citep", "citet", "citeauthor", "citeyear", "nocite",
    "parencite", "textcite", "autocite", "vspace", "hspace", "includegraphics", "input", "include", "bibliography",
    "bibliographystyle", "usepackage", "documentclass", "setlength", "addtolength", "setcounter", "addtocounter",
    "pagestyle", "thispagestyle", "newcommand", "renewcommand", "providecommand", "def", "definecolor", "color",
    "pagenumbering", "hypersetup", "graphicspath", "tableofcontents", "newenvironment", "newtheorem", "rule", "phantom",
    "fontsize", "selectfont", "linespread", "addbibresource", "PassOptionsToPackage", "RequirePackage", "lstset",
)  # fmt: skip
_SIGNS = {" ": " ", ",": " ", ";": " ", "\\": " ", ":": " ", "/": "", "-": "", "@": "", "!": ""}
_LETTERS = {"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł",
            "L": "Ł", "i": "i", "j": "j", "ldots": "…", "dots": "…", "textendash": "\u2013", "textemdash": "—",
            "S": "§", "LaTeX": "LaTeX", "TeX": "TeX", "textbackslash": "\\", "copyright": "©",
            "textasciitilde": "~"}  # fmt: skip
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
            "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328", "r": "\u030a"}  # fmt: skip
_DASHES = {"---": "—", "--": "\u2013", "``": "“", "''": "”", "~": " "}

_GROUP = r"\{((?:[^{}]|\{[^{}]{0,200}\}){0,500})\}"
_ARGUMENT = r"[ \t]*(?:\[[^\]]{0,500}\]|\{(?:[^{}]|\{[^{}]{0,200}\}){0,500}\})"

# Their arguments may contain formulas: an entry of the index, and a heading with its words for the outline of a PDF
WITH_FORMULAS = re.compile(rf"\\(?:(?:index[a-z]*|label|glsadd){_GROUP}|texorpdfstring[ \t]*{_GROUP}[ \t]*{_GROUP})")
_COMMENT = r"(?<!\\)(?:\\\\)*%[^\n\0]*"
COMMENT = re.compile(_COMMENT)
_DEFINING = r"(?:(?:new|renew|provide)command|def|setlength|addtolength)\*?[ \t]*\\[a-zA-Z]+"
_COMMAND = re.compile(rf"\\(?:{_DEFINING}|(?:{'|'.join(_SILENT)})\*?(?![a-zA-Z]))(?:{_ARGUMENT})*")
_FIRST = r"(?:\[[^\]\n]{0,200}\])?\{[^{}]{0,1000}\}"
VERBATIM = r"\\begin\{((?:verbatim|lstlisting|minted|Verbatim|alltt)\*?)\}"
# Without a blank line, so that a dollar sign that is not closed does not hide what follows its paragraph
_WITHIN = r"\n(?![ \t]*\n)"
_FORMULA = (
    rf"(?<!\\)\$\$(?:[^$\n]|{_WITHIN})+\$\$|(?<!\\)\$(?:[^$\n\\]|\\[^\n]|{_WITHIN})+\$"
    rf"|\\\[(?:[^\\\n]|\\[^\[\]\n]|{_WITHIN})*\\\]|\\\((?:[^\\\n]|\\[^()\n]|{_WITHIN})*\\\)"
)
_AUTHOR = re.compile(rf"\n|{_COMMENT}|\\author[ \t]*(?:\[[^\]\n]{{0,500}}\])?{_GROUP}")
FORMULA = re.compile(f"({_FORMULA})")
# A dollar sign in a comment or in code does not begin a formula.
PROTECTED = re.compile(rf"{_COMMENT}|{VERBATIM}(?:[^\\]|\\(?!end\{{\1|begin\{{\1))*|(?P<formula>{_FORMULA})")


def _accented(match: re.Match[str]) -> str:
    letter = match[3].strip("\\ \t")
    return unicodedata.normalize("NFC", letter + _ACCENTS[match[1] or match[2]])


INLINE = (
    (_COMMAND, ""),
    (
        re.compile(r"\\(?:(['`^\"~=.])[ \t]*|([cvuHkr])(?=[ \t{]))\{?[ \t]*(\\[ij](?![a-zA-Z])[ \t]?|[a-zA-Z])\}?"),
        _accented,
    ),
    (  # arguments before a text
        re.compile(
            rf"\\(?:href|textcolor|colorbox|foreignlanguage|hyperlink|hypertarget|parbox|raisebox){_FIRST}"
            rf"|\\(?:fcolorbox|multicolumn|multirow|resizebox){_FIRST}{_FIRST}|\\begin\{{document\}}"
            r"|\\begin\{(?:frame|(?:alert|example)?block)\}(?:<[^>\n]{0,99}>)?(?:\[[^\]\n]{0,200}\])?"
        ),
        "",
    ),
    (  # of options, the name of a theorem is text, which has words
        re.compile(
            r"\\(?:begin|end)\{[^{}\n]{0,100}\}"
            r"(?:(?<!picture\})(?<!axis\})(?<!figure\})(?<!table\})"
            r"\[(?=[^\]\n]{0,200}(?:[A-Z]\w\w|\w \w))([^\]=\n]{1,200})\][ \t]*"
            r"|\[[^\]\n]{0,500}\])?(?:\{[^{}\n]{0,200}\})?"
        ),
        lambda match: f"({match[1]}) " if match[1] else "",
    ),
    (re.compile(r"\\(?:footnote|thanks)(?=\{)"), " "),
    (
        re.compile(r"\\item\b[ \t]*(?:\[([^\]\n]{0,500})\])?[ \t]*"),
        lambda match: f"- {match[1]}: " if match[1] else "- ",
    ),
    (
        re.compile(rf"\\({'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?![a-zA-Z])(?:\{{\}}|[ \t])?"),
        lambda match: _LETTERS[match[1]],
    ),
    (re.compile(r"\\[a-zA-Z]+\*?(?:\[[^\]\n]{0,200}\](?=\{)|[ \t])?"), ""),  # the arguments of other commands are text
    (re.compile(r"(?<!\\)[{}]"), ""),
    (re.compile(r"\\([^a-zA-Z\n])"), lambda match: _SIGNS.get(match[1], match[1])),
    (re.compile(r"---?|``|''|~"), lambda match: _DASHES[match[0]]),
)


class Latex(_Markup):
    """LaTeX documents and chapters of them: prose without commands and comments, with formulas as they are."""

    suffixes = frozenset({".tex", ".latex", ".ltx"})
    levels = LEVELS
    heading = re.compile(rf"[ \t]*\\({'|'.join(LEVELS)})\*?[ \t]*(?:\[[^\]\n]*\])?\{{((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}")
    title = re.compile(r"\\title[ \t]*(?:\[[^\]\n]*\])?\{((?:[^{}]|\{[^{}]*\}){0,1000})\}")
    blocks = (
        (re.compile(rf"[ \t]*{VERBATIM}"), r"\\end\{{}\}", "```"),
        (re.compile(r"[ \t]*\\begin\{(comment)\}"), r"\\end\{{}\}", ""),
        (
            re.compile(
                r"[ \t]*\\begin\{((?:equation|align|gather|multline|eqnarray|displaymath|math|alignat|flalign)\*?)\}"
            ),
            r"\\end\{{}\}",
            None,
        ),
    )
    changes = INLINE

    def _body(self, text: str) -> str:
        """The text between the beginning and the end of the document, with each formula in one line."""
        start, end = text.find("\\begin{document}"), text.find("\\end{document}")
        if start >= 0:  # the preamble contains settings
            kept = "".join(found[1] or "\n" * (found[0] == "\n") for found in _AUTHOR.finditer(text, 0, start))
            text = kept + text[start : end if end > start else None]
        text = WITH_FORMULAS.sub(lambda match: match[3] or "\n" * match[0].count("\n"), text)
        return PROTECTED.sub(lambda match: match[0].replace("\n", "\0") if match["formula"] else match[0], text)

    def _converted(self, lines: list[str]) -> Iterator[str]:
        for line in super()._converted(lines):
            yield from line.split("\0")

    def _plain(self, line: str) -> str:
        pieces = FORMULA.split(COMMENT.sub("", line))
        return "".join(piece if number % 2 else super(Latex, self)._plain(piece) for number, piece in enumerate(pieces))


class Bibtex(_Markup):
    """BibTeX: braces, which protect capitals, are left out, and the accents of TeX become letters."""

    suffixes = frozenset({".bib"})
    changes = ((re.compile(r"^([ \t]*@\w+)[ \t]*[{(]"), r"\1 "), *INLINE)
