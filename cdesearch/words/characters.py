"""Write texts and queries alike, whichever of several characters they use for the same letters.

Accents and their letters become one character (NFC), ligatures, half-width and full-width letters become ordinary ones,
and invisible characters and the control sequences of terminals are left out.
"""

import html
import re
import unicodedata

# Full-width digits, letters and the signs of addresses and identifiers, half-width kana and Hangul, ligatures of Latin,
# Armenian and Hebrew letters, and the forms of Arabic letters. Full-width marks of Chinese sentences stay.
_FORM = r"\uff0d-\uff19\uff20-\uff3a\uff3f\uff41-\uff5a\uff66-\uff9f\uffa1-\uffdc\ufb00-\ufdff\ufe70-\ufefc"
_INVISIBLE = r"\u00ad\u034f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0e\ufeff\U000e0000-\U000e0fff"
_CONTROL = r"\x00-\x08\x0b\x0e-\x1f\x7f-\x9f"
# Joiners belong to words of the scripts from Arabic to Mongolian, and to emoji. Everywhere else they are invisible.
_JOINED = (
    r"[\u0600-\u109f\u1780-\u18af\ua840-\uabff\U00010a00-\U00011fff"
    r"\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff]"
)
_CONTROLS = re.compile(rf"[{_CONTROL}]+")
_OTHER = re.compile(rf"[{_FORM}{_INVISIBLE}{_CONTROL}\u200c\u200d\ufe0f]")  # what no ordinary text contains
_ZEROS = (0x660, 0x6F0, *range(0x966, 0xDE6, 0x80), 0xE50, 0xED0, 0x1040, 0x17E0)  # of the digits of other scripts
# Arabic and Persian keyboards have different letters for the same, and several signs serve as apostrophe and hyphen.
_LETTERS = dict(
    zip(
        "\u06a9\u06cc\u0649\u066b\u066c\u02bb\u02bc\u2018\u2010\u2011\u2012\u2013",
        "\u0643\u064a\u064a.," + 3 * "'" + 4 * "-",
        strict=True,
    )
)
_ALIKE = str.maketrans({chr(zero + digit): str(digit) for zero in _ZEROS for digit in range(10)} | _LETTERS)
_UNLIKE = re.compile(f"[{''.join(map(chr, _ALIKE))}]+")
_ENTITY = re.compile(r"&#?[0-9A-Za-z]{2,31};")
_CHANGES = (
    (re.compile(r"\x1b\[\d{0,4}C"), " "),  # some programs move the cursor instead of writing a blank
    (
        re.compile(
            r"\x1b[\]PX^_][^\x07\x1b\x9c\n]{0,4000}(?:\x07|\x1b\\|\x9c)"  # titles of windows, addresses of links
            r"|(?:\x1b\[|\x9b)[0-?]{0,80}[ -/]{0,9}[@-~]|\x1b[ -/]{0,9}[0-~]|[\x0e\x0f]"  # colours, erasures, fonts
            r"|[^\n\x08]\x08"  # a letter that is written over
        ),
        "",
    ),
    (_CONTROLS, " "),
    (re.compile(rf"[{_INVISIBLE}]|(?<=\w)\ufe0f|(?<!{_JOINED})[\u200c\u200d]+|[\u200c\u200d]+(?!{_JOINED})"), ""),
    (re.compile(rf"[{_FORM}]+"), lambda found: unicodedata.normalize("NFKC", found[0])),
)


def normal(text: str) -> str:
    """A text as it is searched and shown; the same text if it is so already. It keeps its lines."""
    if text.isascii() and text.isprintable():  # such as a title
        return text
    if (_CONTROLS if text.isascii() else _OTHER).search(text):  # the first takes half of the time
        for pattern, replacement in _CHANGES:
            text = pattern.sub(replacement, text)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def unescaped(text: str) -> str:
    """A text with the characters that the entities of HTML stand for, such as `&amp;`. It keeps its lines."""
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda found: _shown(html.unescape(found[0])), text)


def _shown(character: str) -> str:
    """A character itself, a blank for white space, and nothing for one that is invisible, such as a soft hyphen."""
    if character.isprintable():
        return character
    return "" if unicodedata.category(character[0]) == "Cf" else " "


def alike(text: str) -> str:
    """A text with the same digits, hyphens, apostrophes and Arabic letters, whichever of several it has."""
    return _UNLIKE.sub(lambda found: found[0].translate(_ALIKE), text)


def spellings(character: str) -> list[str]:
    """A character as it may be stored in the name of a file: as one code point, or as a letter and its accents."""
    return list(dict.fromkeys((character, unicodedata.normalize("NFD", character))))
