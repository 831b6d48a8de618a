"""Decode bytes: by byte order mark, as UTF-8, by declaration, as UTF-16 without a mark, then by a detector.

UTF-8 is tried before a declared encoding, because valid UTF-8 is hardly ever anything else. In a file with lines of
UTF-8 and others, such as a log of several programs, each line has its own encoding. Binary files are refused before
decoding, because a detector finds a legacy encoding for almost any short run of bytes.
"""

import codecs
import io
import re
from collections.abc import Iterator
from functools import partial
from io import BufferedIOBase
from typing import BinaryIO, cast
from unicodedata import category

from indexer.formats.format import UnreadableError

HEAD = 8192  # bytes at the start of a file in which NULs may mean UTF-16 or "binary"
BLOCK = 1 << 20
HEAD_OF_TEXT = 128  # bytes; many binary files contain long texts, but do not begin with one
CONTROL_SHARE = 50  # a text has at least so many bytes for each control character
NUL_SHARE = 4  # the same for NULs below a first line, with which some programs fill cells
MAX_LINE = 2000  # bytes around one that is not UTF-8 that tell the encoding of its line
SAMPLE = 1 << 16  # bytes of lines that are not ASCII, which the detector reads
DAMAGED = 20  # a file that is damaged has so many valid characters outside ASCII for each invalid one
DAMAGED_LINE = 2  # the same for a line
MIXED = 20  # a file is not UTF-8 in a part of its lines if only one in so many lines outside ASCII is
WESTERN_SHARE = 0.3  # of the bytes; no Western European text has a larger share of accented letters
SURE = 0.2  # the detector's coherence with the letters of a language

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The encodings that browsers use for these names (https://encoding.spec.whatwg.org); each is a superset.
MEANT = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "latin-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "cp950",
}  # fmt: skip
STATEFUL = re.compile(r"iso2022_\w+|hz")  # they use ASCII bytes only, which are valid UTF-8
KNOWN = re.compile(
    r"cp(125\d|437|7\d\d|85\d|86\d|874|932|949|950|866|1125)|iso8859[-_]\d+|koi8[-_]\w|mac[-_]\w+|big5\w*|gb\w+|euc_\w+"
    r"|shift_jis\w*|johab|iso2022_\w+|hz|tis-620|ptcp154|kz1048|ascii|latin-1|utf-8"
)
DETECTED = [
    "cp1252", "cp1250", "iso8859_2", "cp1251", "koi8_r", "iso8859_5", "cp1253", "iso8859_7", "cp1254", "cp1255",
    "cp1256", "gb18030", "big5", "cp932", "euc_jp", "cp949", "cp866", "cp874",
]  # fmt: skip

# The letters outside ASCII of languages; the first encoding that has none but these holds. The detector confuses them.
_CENTRAL = "ąćęłńóśźżäéöü áčďéěíňóřšťúůýžäöü áäčďéíĺľňóôŕšťúýž áéíóöőúüű čćđšž ăâîşţ"
_ALPHABETS = (
    ("cp1252", "àâäçèéêëîïôöùûüßœåµ áàâãçéêíóôúüªºµ áçéíïñóúüªº àçèéìòùî àçèéíïòóúü æøåäöéèü"),
    ("cp1254", "çğıöşüâîû"), ("cp1252", "áðéíóúýþæö"), ("cp1250", _CENTRAL), ("iso8859_2", _CENTRAL),
    ("cp1252", "àáâãäåæçèéêëíîïñóôõöøùúûüßœšžªºµ"),
)  # fmt: skip
# What is no letter, or no end of a word, in one of these encodings, but a letter in another one
_NO_LETTER = re.compile(
    r"[^\W\d_](?:[±¶](?!\d)|[¹³¼¾¿¯¡¥£¦¬](?=[^\W\d_]))|[¹³](?=[a-z])|£(?!(?:bn|mn|mio|tn|pa|pw)\b)(?=[a-z]{2})"
    r"|[ìù](?=[^\W\d_])|(?<!\d)[ªº](?=[^\W\d_])|ã(?=[bcdfghjklmnpqrtvx])|[\x80-\x9f]"
)

_NUL, _NULS = re.compile(rb"\0+"), re.compile(rb"\0{8,}")  # and what a crash leaves in a log
# \x08 makes letters bold in pages of a manual, \x1a ends old DOS files, \x1b colours logs
_CONTROL = re.compile(rb"[\x01-\x07\x0e-\x19\x1c-\x1f\x7f]")
ENCODED = 1000  # letters of Base64 without a blank are no text
KEY_MARKS = "KEY-----", "-----END"  # without a blank between them if line ends are written as \\n
_PICTURE = re.compile(r"data:[\w.+-]{1,99}\\?/[\w.+;=-]{1,199},[^\s\"'()<>]{200,}")  # written into a text
_DRAWING = re.compile(
    r"data:image/svg\+xml[\w;=-]{0,99},[ ]?(?:<|%3C)svg\b.{0,50000}?(?:</|%3C/)svg(?:>|%3E)", re.IGNORECASE | re.DOTALL
)
# The same in lines of Base64, which the files of some programs and mails have.
_WRAPPED = re.compile(
    r"data:[\w.+-]{1,99}/[\w.+;=-]{1,199},[A-Za-z0-9+/]{0,999}(?:\n[A-Za-z0-9+/]{40,999})+(?:\n?[A-Za-z0-9+/]{0,99}=?=?(?=[)\"'>]))?"
)
_LETTER = r"[A-Za-z0-9+/_=\\-]"  # and the backslash, which JSON may write before a slash
_HALF_ENCODED = re.compile(rf"{_LETTER}{{{ENCODED // 2}}}")
_ENCODED = re.compile(rf"(?<!{_LETTER}){_LETTER}{{{ENCODED - 1},}}[\w+/=-]")
# Data in lines, as mails and `base64` write it. Its first line has letters of all kinds, which sequences do not have.
_HALF_IN_LINES = re.compile(r"[A-Za-z0-9+/]{0,76}\n(?:[A-Za-z0-9+/]{60,76}\n){4}")
_IN_LINES = re.compile(
    r"\n(?=[^\n]*[a-z])(?=[^\n]*[A-Z])(?=[^\n]*\d)(?:[A-Za-z0-9+/]{60,76}\n){12,}[A-Za-z0-9+/]{0,76}={0,2}(?=\n|\Z)"
)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_META = re.compile(rb"<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([-\w.:]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s{0,99}<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([-\w.:]{1,40})|@charset \"([-\w.]{1,40})\"")
_CODING = re.compile(rb"coding[:=][ \t]{0,9}([-\w.]{1,40})")  # Python, Emacs and, in `fileencoding=`, vim


def decode(data: bytes, *, is_markup: bool = False, charset: str | None = None) -> str:
    """The text of a file with "\\n" as line ends; raises UnreadableError if it is binary or of unknown encoding.

    `charset` is the name of the encoding that a mail declares for a part.
    """
    stated = charset.encode("ascii", "replace") if charset else _stated(data, is_markup=is_markup)
    declared = _known(stated) if stated else None
    try:
        data.decode()
        is_utf8 = True
    except UnicodeDecodeError:
        is_utf8 = False
    encoding, errors = _encoding(data[:BLOCK], data, declared, is_utf8=is_utf8)
    text = without_surrogates(data.decode(encoding, errors).replace("\r\n", "\n").replace("\r", "\n"))
    return without_data(text)


def stream_encoding(stream: BufferedIOBase) -> tuple[str, str]:
    """The encoding and the error handler of a stream of any length, which is read in blocks and left at its start.

    Raises UnreadableError if it is binary or of unknown encoding.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    stream.seek(0)
    head, sample, is_utf8 = b"", b"", True
    while block := stream.read(BLOCK):
        head = head or block
        if is_utf8:
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                is_utf8 = False
        lines = b"\n".join(line for line in block.split(b"\n") if not line.isascii())
        sample += lines[: SAMPLE - len(sample)]
    stream.seek(0)
    return _encoding(head, sample, None, is_utf8=is_utf8 and not decoder.getstate()[0])


def stream_lines(stream: BufferedIOBase, most: int) -> Iterator[str]:
    """The lines of a stream of any length, with their ends.

    Raises UnreadableError as `stream_encoding` does, and for a line of more than `most` characters.
    """
    lines = io.TextIOWrapper(cast(BinaryIO, stream), *stream_encoding(stream), newline="")
    try:
        for number, line in enumerate(iter(lambda: lines.readline(most), ""), start=1):
            if len(line) >= most:
                raise UnreadableError(f"line {number} is longer than {most / 1e6:g} million characters")
            yield line
    finally:
        lines.detach()  # the caller closes the stream


def without_data(text: str) -> str:
    """The text with "…" for each picture that is written into it, and for other data in Base64."""
    if "data:" in text:
        text = _PICTURE.sub("…", text)
        for pattern in (_DRAWING, _WRAPPED):
            text = pattern.sub(lambda found: "…" + "\n" * found[0].count("\n"), text)
    # An expression that looks at each letter would take as long as the rest of reading.
    sampled = range(0, len(text), ENCODED // 2)
    if any(_HALF_IN_LINES.match(text, start) for start in sampled):
        text = _IN_LINES.sub(lambda found: "\n…" + "\n" * (found[0].count("\n") - 1), f"\n{text}")[1:]
    if any(_HALF_ENCODED.match(text, start) for start in sampled):
        return _ENCODED.sub(_without_letters, text)
    return text


def _without_letters(found: re.Match[str]) -> str:
    """What stands for letters of Base64: the marks of a key remain, so that it can be known as one."""
    is_key = found[0].startswith(KEY_MARKS[0]) and found[0].endswith(KEY_MARKS[1])
    return "…".join(KEY_MARKS) if is_key else "…"


def without_surrogates(text: str) -> str:
    """The text without surrogates, which UTF-8 cannot encode: pairs are joined, and single ones become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_binary(data: bytes) -> bool:
    """Whether the start or the whole of data has more control characters than a text. Blocks of NULs do not count."""
    rest = _NULS.sub(b"", data[:BLOCK])
    is_table, n_harmless = b"\n" in rest.partition(b"\0")[0], int(rest.isascii())
    return any(
        len(_CONTROL.findall(part)) * CONTROL_SHARE
        + (len(_NUL.findall(part)) - n_harmless) * (NUL_SHARE if is_table else CONTROL_SHARE)
        > len(part)
        for part in (rest[:HEAD_OF_TEXT], rest)
    )


def _encoding(head: bytes, sample: bytes, declared: str | None, *, is_utf8: bool) -> tuple[str, str]:
    """The encoding of a file, and the handler of errors; `sample` has its bytes or its first lines outside ASCII.

    Raises UnreadableError if the file is binary, or if no encoding is sure.
    """
    if (marked := _mark(head)) is not None:
        return marked, "replace"
    has_nuls = b"\0" in head[:HEAD]
    if has_nuls and (unmarked := _unmarked_utf16(head)) is not None:
        return unmarked, "replace"
    is_stateful = declared is not None and STATEFUL.fullmatch(declared)
    if (has_nuls or not is_utf8) and is_binary(head if has_nuls else sample):
        raise UnreadableError("binary")
    if is_utf8 and not is_stateful:
        return "utf-8-sig", "replace"
    if declared is not None and (is_stateful or _decodes_nearly(sample, declared)):
        return declared, "replace"
    if _decodes_nearly(sample, "utf-8"):
        return "utf-8", _BY_LINE["cp1252"]
    lines = [line for line in sample[:BLOCK].split(b"\n") if not line.isascii()]
    wrong = [line for line in lines if not _decodes_nearly(line, "utf-8", DAMAGED_LINE)]
    is_mixed = (len(lines) - len(wrong)) * MIXED >= len(lines)
    found = _detected(b"\n".join(wrong)[:SAMPLE], is_sure=not is_mixed)
    return ("utf-8", _BY_LINE[found]) if is_mixed and found in _BY_LINE else (found, "replace")


def _rest_of_line(encoding: str, error: UnicodeError) -> tuple[str, int]:
    """What stands for the bytes from an error in UTF-8 on: the line in another encoding, or one damaged character."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    begin = data.rfind(b"\n", max(0, start - MAX_LINE), start) + 1 or max(0, start - MAX_LINE)
    end = data.find(b"\n", start, start + MAX_LINE)
    line = data[begin : end if end >= 0 else start + MAX_LINE]
    if _decodes_nearly(line, "utf-8", DAMAGED_LINE):
        return "\ufffd", error.end
    return line[start - begin :].decode(encoding, "replace"), begin + len(line)


# The error handlers for lines that are not UTF-8, by their encoding, in which each character is one byte. Valid
# UTF-8 is frequent among short lines of the others.
_BY_LINE = {encoding: f"line-in-{encoding}" for encoding in DETECTED[:11]}
for _name, _handler in _BY_LINE.items():
    codecs.register_error(_handler, partial(_rest_of_line, _name))


def _mark(data: bytes) -> str | None:
    return next((name for mark, name in MARKS if data.startswith(mark)), None)


def _stated(data: bytes, *, is_markup: bool) -> bytes | None:
    """The name of the encoding that a file declares.

    Code does so in one of its first two lines, or in one of the last five, as vim allows.
    """
    if found := _XML.match(data):
        return found[1] or found[2]
    lines = [*data[:1000].split(b"\n", 2)[:2], *(data[-1000:].split(b"\n")[-5:] if b"vim" in data[-1000:] else [])]
    found = _META.search(data[:HEAD]) if is_markup else next(filter(None, map(_CODING.search, lines)), None)
    return found[1] if found else None


def _known(name: bytes) -> str | None:
    """The codec of a declared name; None if there is none or it cannot be that of a file that begins in ASCII."""
    try:
        codec = codecs.lookup(name.decode("ascii", "replace")).name
    except (LookupError, ValueError):
        return None
    codec = MEANT.get(codec.replace("iso8859_", "iso8859-"), codec)
    return codec if KNOWN.fullmatch(codec) else None


def _decodes_nearly(data: bytes, encoding: str, damaged: int = DAMAGED) -> bool:
    """Whether `data` has more than `damaged` characters outside ASCII for each one that is not valid."""
    text = data.decode(encoding, "replace")
    wrong = text.count("\ufffd")
    return not wrong or len(text) - len(text.encode("ascii", "ignore")) - wrong > damaged * wrong


def _unmarked_utf16(data: bytes) -> str | None:
    """UTF-16 by its NULs, most of which are at either even or odd offsets; None if they are not."""
    data = data[: BLOCK & ~1]
    high, low = data[::2].count(0), data[1::2].count(0)
    share = max(high, low) / max(1, len(data) // 2)
    text = data.decode("utf-16-be" if high > low else "utf-16-le", "replace")
    odd = any(category(letter) in ("Cc", "Cn", "Co") and letter not in "\t\n\r\f" for letter in set(text))
    # ASCII with some NULs would decode as Chinese.
    if odd or "\ufffd" in text or share < (0.9 if data.isascii() else 0.1) or 2 * min(high, low) > max(high, low):
        return None
    return "utf-16-be" if high > low else "utf-16-le"


def _detected(sample: bytes, *, is_sure: bool) -> str:
    """The encoding of text that is not UTF-8; with `is_sure`, raises UnreadableError if the detector is not.

    Text with few bytes outside ASCII is read as Western European, which most of such files are.
    """
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=DETECTED, enable_fallback=False).best()
    if best is not None and (best.coherence >= SURE or best.multi_byte_usage > 0.1):
        if best.encoding == "cp949" and not re.search("[\uff61-\uff9f\ufffd]", sample.decode("cp932", "replace")):
            return "cp932"  # in which Korean would be half-width kana
        return (best.encoding in dict(_ALPHABETS) and _by_letters(sample)) or best.encoding
    if is_sure and len(_NOT_ASCII.findall(sample)) > WESTERN_SHARE * len(sample):
        raise UnreadableError("not UTF-8 text, and no other encoding is sure")
    return _by_letters(sample) or "cp1252"


def _by_letters(sample: bytes) -> str | None:
    """The encoding of one byte for each letter in which all letters are those of a language; None without one."""
    for encoding, alphabets in _ALPHABETS:
        text = sample.decode(encoding, "replace")
        known = text.lower().replace("õe", "")  # only Portuguese has these two
        letters = {letter for letter in set(known) if letter.isalpha() and not letter.isascii()}
        if "\ufffd" not in text and not _NO_LETTER.search(text) and any(map(letters.issubset, alphabets.split())):
            return encoding
    return None
