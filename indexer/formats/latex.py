"""What LaTeX writes within a line: the tables by which `markup` converts it to plain text."""

import re
import unicodedata

LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6}
# Commands whose arguments are not text
_SILENT = (
    "ref", "eqref", "pageref", "autoref", "cref", "Cref", "cite", "citep", "citet", "citeauthor", "citeyear",
    "nocite", "parencite", "textcite", "autocite", "vspace", "hspace", "includegraphics",
    "input", "include", "bibliography", "bibliographystyle", "usepackage", "documentclass", "setlength", "addtolength",
    "setcounter", "addtocounter", "pagestyle", "thispagestyle", "newcommand", "renewcommand", "providecommand", "def",
    "definecolor", "color", "pagenumbering", "hypersetup", "graphicspath", "tableofcontents", "newenvironment",
    "newtheorem", "rule", "phantom", "fontsize", "selectfont", "linespread", "addbibresource", "PassOptionsToPackage",
    "RequirePackage", "lstset",
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
_ARGUMENT = r"[ \t]*(?:\[[^\]]{0,500}\]|\{(?:[^{}]|\{[^{}]{0,200}\}){0,500}\}|\\[a-zA-Z]+(?=[{\[]))"

# Their arguments may contain formulas: an entry of the index, and a heading with its words for the outline of a PDF
WITH_FORMULAS = re.compile(rf"\\(?:(?:index[a-z]*|label|glsadd){_GROUP}|texorpdfstring[ \t]*{_GROUP}[ \t]*{_GROUP})")
_COMMENT = r"(?<!\\)(?:\\\\)*%[^\n\0]*"
COMMENT = re.compile(_COMMENT)
_COMMAND = re.compile(rf"\\(?:{'|'.join(_SILENT)})\*?(?![a-zA-Z])(?:{_ARGUMENT})*")
VERBATIM = r"\\begin\{((?:verbatim|lstlisting|minted|Verbatim|alltt)\*?)\}"
# Without a blank line, so that a dollar sign that is not closed does not hide what follows its paragraph
_WITHIN = r"\n(?![ \t]*\n)"
_FORMULA = (
    rf"(?<!\\)\$\$(?:[^$\n]|{_WITHIN})+\$\$|(?<!\\)\$(?:[^$\n\\]|\\[^\n]|{_WITHIN})+\$"
    rf"|\\\[(?:[^\\\n]|\\[^\[\]\n]|{_WITHIN})*\\\]|\\\((?:[^\\\n]|\\[^()\n]|{_WITHIN})*\\\)"
)
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
    (re.compile(r"\\href\{[^{}]{0,1000}\}|\\begin\{document\}"), ""),
    (re.compile(r"\\(?:begin|end)\{[^{}\n]{0,100}\}(?:\[[^\]\n]{0,500}\])?(?:\{[^{}\n]{0,200}\})?"), ""),
    (re.compile(r"\\footnote(?=\{)"), " "),
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
