"""The text of troff, the language of manual pages: arguments of requests, and escapes such as `\\fB` and `\\(em`."""

import re
from collections.abc import Mapping
from itertools import zip_longest
from unicodedata import normalize

# Special characters by their names; groff_char(7) lists all of them. Others keep their names.
CHARACTERS = {
    "em": "\u2014", "en": "\u2013", "hy": "-", "bu": "\u2022", "lq": '"', "rq": '"', "oq": "'", "cq": "'", "aq": "'",
    "dq": '"', "ga": "`", "ha": "^", "ti": "~", "rs": "\\", "sl": "/", "co": "\u00a9", "rg": "\u00ae", "tm": "\u2122",
    "mu": "\u00d7", "mi": "-", "pl": "+", "+-": "\u00b1", "de": "\u00b0", "->": "->", "<-": "<-", "<=": "<=",
    ">=": ">=", "!=": "!=", "==": "==", "eq": "=", "ba": "|", "br": "|", "bv": "|", "at": "@", "sh": "#", "Do": "$",
    "lB": "[", "rB": "]", "lC": "{", "rC": "}", "la": "<", "ra": ">", "ul": "_", "ru": "_", "ss": "\u00df",
    "AE": "\u00c6", "ae": "\u00e6", "/O": "\u00d8", "/o": "\u00f8", "12": "1/2", "14": "1/4", "34": "3/4",
    "sc": "\u00a7", "dg": "\u2020", "*m": "\u03bc", "if": "\u221e", "Fo": "\u00ab", "Fc": "\u00bb", "or": "|",
}  # fmt: skip
# Strings that macro packages define, and those that pod2man defines by conditions.
STRINGS = {
    "lq": '"', "rq": '"', 'L"': '"', 'R"': '"', "C'": "", "--": "-", "PI": "pi", "Aq": "'", "Tm": "\u2122",
    "R": "\u00ae", "C+": "C++", "C`": "", "S": "",
}  # fmt: skip
SIGNS = {"e": "\\", "\\": "\\", "~": " ", "0": " ", "t": "\t", "a": "\t"}
WITHOUT_WIDTH = "&)/,:%{}cdupr^|!"
ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", ":": "\u0308", ",": "\u0327"}

_STRING = re.compile(r"\\\*(\(..|\[[^\]]{0,99}\]|[^(\[])")
_ESCAPE = re.compile(
    r"\\(?:[\"#].*|[fFmMkVYgn][-+]?(?:\(..|\[[^\]]{0,99}\]|.)|s(?:[-+]?\d|[-+]?\(..|\[[^\]]{0,9}\]|\([-+]\d\d)"
    r"|\((?P<two>..)|\[(?P<any>[^\]]{0,99})\]"
    r"|C'(?P<quoted>[^']{0,99})'|[hvwbDHLlNoXxZBARS]'[^']{0,999}'|z|(?P<sign>.)|$)"
)
_COMMENT = re.compile(r"(?<!\\)\\[\"#].*")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|((?:\\[^"]|[^\s\\])+)')


def arguments(line: str) -> list[str]:
    """The arguments of a request, without quotes; their escapes are kept."""
    matches = _ARGUMENT.finditer(_COMMENT.sub("", line))
    return [match[2] if match[1] is None else match[1].replace('""', '"') for match in matches]


def plain(text: str, strings: Mapping[str, str]) -> str:
    """Text without escapes. `strings` are those that the page defines; they contain no escapes."""
    if "\\" not in text:
        return text
    # The value of a string may contain a backslash, which is not the beginning of an escape.
    parts = _STRING.split(text)
    shown = [_ESCAPE.sub(_character, part) if part else "" for part in parts[::2]]
    names = (name[1:-1] if name[0] == "[" else name.removeprefix("(") for name in parts[1::2])
    values = [strings.get(name, STRINGS.get(name, "")) for name in names]
    return "".join(part for pair in zip_longest(shown, values, fillvalue="") for part in pair)


def _character(match: re.Match[str]) -> str:
    name = match["two"] or match["any"] or match["quoted"]
    sign = match["sign"]
    if name is not None:
        return _named(name)
    if sign is None or sign in WITHOUT_WIDTH:
        return ""
    return SIGNS.get(sign, sign)


def _named(name: str) -> str:
    """The character of a name such as `em`, `u00E9` or `'e`."""
    if name in CHARACTERS:
        return CHARACTERS[name]
    code = re.fullmatch(r"u([0-9A-F]{4,5})(?:_[0-9A-F_]+)?", name)
    if code and not 0xD800 <= int(code[1], 16) <= 0xDFFF and int(code[1], 16) < 0x110000:
        return chr(int(code[1], 16))
    if len(name) == 2 and name[0] in ACCENTS and name[1].isalpha():
        return normalize("NFC", name[1] + ACCENTS[name[0]])
    return name
