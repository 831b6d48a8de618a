"""Decode bytes: by byte order mark, as UTF-8, by declaration, as UTF-16, then by a detector.

UTF-8 is tried before a declared encoding, because valid UTF-8 is hardly ever anything else. Binary files are refused
before decoding, because a detector finds a legacy encoding for almost any short run of bytes.
"""

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from typing import BinaryIO, cast
from unicodedata import category

from indexer.formats.unreadable import UnreadableError

HEAD = 8192  # bytes at the start of a file in which a NUL means "binary"
BLOCK = 1 << 20
SAMPLE = 1 << 16  # bytes of lines that are not ASCII, which the detector reads
TOLERATED = 20  # a file with damaged bytes needs so many valid characters outside ASCII for each invalid one
WESTERN_SHARE = 0.3  # of the visible bytes; no Western European text has a larger share of accented letters
SURE_BYTES = 32  # bytes outside ASCII; with fewer a detector only guesses
CERTAIN, LIKELY = 0.4, 0.3  # thresholds of the detector's coherence with the letters of a language

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
LEGACY = (
    "cp1250", "iso8859_2", "cp1251", "koi8_r", "iso8859_5", "cp1253", "iso8859_7", "cp1255", "cp1256",
    "gb18030", "big5", "cp932", "euc_jp", "cp949",
)  # fmt: skip
CENTRAL = ("cp1250", "iso8859_2")
CENTRAL_LANGUAGES = ("Polish", "Czech", "Slovak", "Hungarian", "Croatian", "Slovene")

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f\x7f]")  # \x1a ends old DOS files; \x1b colours logs
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_META = re.compile(rb"<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([-\w.:]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s{0,99}<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([-\w.:]{1,40})")
_CODING = re.compile(rb"coding[:=][ \t]{0,9}([-\w.]{1,40})")  # Python, Emacs and, in `fileencoding=`, vim
_LETTERS = r"\xc0-\xff\u0152-\u017e"
_SIGNS = r"\xaa\xad\xb0\xb7\xba\u2013-\u2026"  # next to letters: ordinals, degrees, quotes and dashes
# Undefined bytes, four accented letters in a row, and signs such as a superscript three inside words
_ODD_PLACE = re.compile(rf"\ufffd|[{_LETTERS}]{{4}}|[a-z{_LETTERS}][^\x00-\x7f{_LETTERS}{_SIGNS}][a-z{_LETTERS}]")
_STYLE_SHEET = re.compile(rb'@charset "([-\w.]{1,40})"')


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec and its error handler."""

    name: str
    errors: str = "strict"


UTF_8 = Encoding("utf-8-sig")


def decode(data: bytes, *, is_markup: bool = False, charset: str | None = None) -> str:
    """The text of a file with "\\n" as line ends; raises UnreadableError if it is binary or of unknown encoding.

    `charset` is the name of the encoding that a mail declares for a part.
    """
    stated = _known(charset.encode("ascii", "replace")) if charset else None
    quick = None if stated and STATEFUL.fullmatch(stated) else _quick(data)
    encoding = quick or _find(data, data, stated or _declared(data, is_markup=is_markup))
    try:
        text = data.decode(encoding.name, encoding.errors)
    except UnicodeDecodeError:
        raise UnreadableError(f"not UTF-8 text, though marked as {encoding.name}") from None
    return without_surrogates(text.replace("\r\n", "\n").replace("\r", "\n"))


def stream_encoding(stream: BufferedIOBase) -> Encoding:
    """The encoding of a stream of any length, which is read once in blocks and left at its start.

    Raises UnreadableError if it is binary or of unknown encoding.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    head, unlike_ascii, n_unlike = b"", [], 0
    is_utf8 = True
    for block in _blocks(stream):
        if not head:
            head = block
            if _mark(head):
                break
        is_utf8 = is_utf8 and _accepts(decoder, block)
        if n_unlike < SAMPLE and not block.isascii():
            unlike_ascii.append(_unlike_ascii(block, SAMPLE - n_unlike))
            n_unlike += len(unlike_ascii[-1])
    is_utf8 = is_utf8 and _accepts(decoder, b"", final=True)
    stream.seek(0)
    marked = _mark(head)
    if marked:
        return marked
    if is_utf8 and b"\0" not in head[:HEAD]:
        return UTF_8
    return _find(head, b"\n".join(unlike_ascii), None)


def stream_lines(stream: BufferedIOBase, limit: int) -> Iterator[bytes]:
    """The lines, in UTF-8, of a stream in UTF-8 or in UTF-16 with a mark; each has at most `limit` + 1 bytes."""
    marked = _mark(stream.read(4))
    stream.seek(0)
    if marked is None or marked.name == "utf-8-sig":
        yield from iter(lambda: stream.readline(limit + 1), b"")
        return
    lines = io.TextIOWrapper(cast(BinaryIO, stream), marked.name, "replace")
    try:
        while line := lines.readline(limit + 1):
            yield line.encode()
    finally:
        lines.detach()  # the caller closes the stream


def without_surrogates(text: str) -> str:
    """The text without surrogates, which UTF-8 cannot encode: pairs are joined, and single ones become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _quick(data: bytes) -> Encoding | None:
    """The encoding by mark, or UTF-8 for valid UTF-8, which nearly every file is; None otherwise."""
    marked = _mark(data)
    if marked or b"\0" in data[:HEAD]:
        return marked
    declared = _STYLE_SHEET.match(data) or _XML.match(data) or _META.search(data[:HEAD]) or _coding_line(data)
    if declared and STATEFUL.fullmatch(_known(declared[1]) or ""):
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return UTF_8


def _find(head: bytes, sample: bytes, declared: str | None) -> Encoding:
    if b"\0" in head[:HEAD]:
        return _unmarked_utf16(head)
    if len(_CONTROL.findall(sample, 0, BLOCK)) * 1000 > min(len(sample), BLOCK):
        raise UnreadableError("binary")
    if declared is not None and (STATEFUL.fullmatch(declared) or _decodes_nearly(sample, declared)):
        return Encoding(declared, "replace")
    if _decodes_nearly(sample, "utf-8"):
        return Encoding("utf-8", "replace")
    found = _detected(_unlike_ascii(sample, SAMPLE))
    if found is None:
        raise UnreadableError("not UTF-8 text, and no other encoding is sure")
    return Encoding(found, "replace")


def _mark(data: bytes) -> Encoding | None:
    return next((Encoding(name) for mark, name in MARKS if data.startswith(mark)), None)


def _blocks(stream: BufferedIOBase) -> Iterator[bytes]:
    stream.seek(0)
    while block := stream.read(BLOCK):
        yield block


def _accepts(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True


def _declared(data: bytes, *, is_markup: bool) -> str | None:
    found = _STYLE_SHEET.match(data) or _XML.match(data)
    if not found:
        found = _META.search(data[:HEAD]) if is_markup else _coding_line(data)
    return _known(found[1]) if found else None


def _coding_line(data: bytes) -> re.Match[bytes] | None:
    """The declaration in one of the first two lines, or in one of the last five, as vim allows."""
    first = data[:1000].split(b"\n", 2)[:2]
    last = data[-1000:].split(b"\n")[-5:] if b"vim" in data[-1000:] else []
    return next((match for match in map(_CODING.search, [*first, *last]) if match), None)


def _known(name: bytes) -> str | None:
    """The codec of a declared name; None if there is none or it cannot be that of a file that begins in ASCII."""
    try:
        codec = codecs.lookup(name.decode("ascii", "replace")).name
    except LookupError:
        return None
    codec = MEANT.get(codec.replace("iso8859_", "iso8859-"), codec)
    return codec if KNOWN.fullmatch(codec) else None


def _decodes_nearly(data: bytes, encoding: str) -> bool:
    """Whether all but a few bytes in `data` are valid in the encoding."""
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        wrong = text.count("\ufffd")
        return (len(text) - len(text.encode("ascii", "ignore")) - wrong) > TOLERATED * wrong
    return True


def _unmarked_utf16(data: bytes) -> Encoding:
    """UTF-16 by its NULs, most of which are at either even or odd offsets; raises UnreadableError otherwise."""
    data = data[: BLOCK & ~1]
    high, low = data[::2].count(0), data[1::2].count(0)
    share = max(high, low) / max(1, len(data) // 2)
    if share < (0.9 if data.isascii() else 0.1):  # ASCII with some NULs would decode as Chinese
        raise UnreadableError("binary")
    encoding = "utf-16-be" if high > low else "utf-16-le"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise UnreadableError("binary") from None
    odd = [letter for letter in set(text) if category(letter) in ("Cc", "Cn", "Co") and letter not in "\t\n\r\f"]
    if odd or 2 * min(high, low) > max(high, low):
        raise UnreadableError("binary")
    return Encoding(encoding)


def _unlike_ascii(data: bytes, limit: int) -> bytes:
    """The lines of `data` that contain bytes outside ASCII, up to about `limit` bytes."""
    if len(data) <= limit:
        return data
    lines, size, position = [], 0, 0
    while size < limit and (match := _NOT_ASCII.search(data, position)):
        start = max(data.rfind(b"\n", 0, match.start()) + 1, match.start() - 1000, position)
        stop = data.find(b"\n", match.end(), match.end() + limit - size)
        position = stop + 1 if stop >= 0 else match.end() + limit - size
        lines.append(data[start:position])
        size += position - start
    return b"".join(lines)


def _detected(sample: bytes) -> str | None:
    """The encoding of text that is not UTF-8, or None if the detector is not sure."""
    from charset_normalizer import from_bytes

    is_western = _is_western(sample)
    if len(_NOT_ASCII.findall(sample)) < SURE_BYTES:
        return "cp1252" if is_western else None
    wanted = [*CENTRAL, "cp1252"] if is_western else list(LEGACY)
    best = from_bytes(sample, cp_isolation=wanted, enable_fallback=False).best()
    if is_western:
        is_central = best is not None and best.encoding in CENTRAL and best.language in CENTRAL_LANGUAGES
        return best.encoding if best is not None and is_central and best.coherence >= CERTAIN else "cp1252"
    if best is None or best.chaos > 0.1:
        return None
    return best.encoding if best.multi_byte_usage > 0.1 or best.coherence >= LIKELY else None


def _is_western(sample: bytes) -> bool:
    """Whether in cp1252 the bytes are accented letters and punctuation where these can occur in words."""
    visible = len(sample) - sum(sample.count(blank) for blank in b" \t\r\n")
    if len(_NOT_ASCII.findall(sample)) > WESTERN_SHARE * visible:
        return False
    text = sample.decode("cp1252", "replace")
    odd = len(_ODD_PLACE.findall(text))
    return odd * TOLERATED <= len(_NOT_ASCII.findall(sample))
