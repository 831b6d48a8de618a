"""Which files are read whose names no format lists: text for people, and mail."""

import gzip
import re
import zlib
from io import BufferedIOBase
from statistics import median

from cdesearch.words.characters import normal
from indexer.formats.compressed import NAMES as COMPRESSIONS
from indexer.formats.encoding import is_binary
from indexer.formats.format import GeneratedError, UnreadableError, suffix_of
from indexer.formats.mail import is_mail

UNKNOWN_FORMAT = "unknown format"
SNIFFED = 4096  # bytes, enough to distinguish text from binary
MOST_BYTES = 1_000_000  # of a file with an unknown suffix that is read; larger ones are hardly ever documents
LONGEST_LINE = 1000  # characters; minified files and data have longer ones
LETTERS = 0.7  # of the visible characters at least; prose has 0.95, code 0.8, tables of numbers and hashes below 0.5
WORDS = 2  # in the median line at least; lists of words and encoded data have one

# Kinds of files without text to search. They are ignored, not reported as skipped.
_SUFFIXES = {
    "image": ".png .jpg .jpeg .gif .bmp .ico .icns .webp .avif .heic .heif .tif .tiff .psd .xcf .raw .cr2 .nef",
    "sound": ".mp3 .wav .ogg .oga .opus .flac .aac .m4a .wma .aiff .mid .midi",
    "video": ".mp4 .m4v .mkv .mov .avi .webm .wmv .flv .mpg .mpeg .ogv",
    "font": ".ttf .otf .woff .woff2 .eot .pfb",
    "compiled code": ".pyc .pyo .pyd .o .obj .a .lib .so .dll .dylib .exe .class .wasm .elc .mo .map",
}
WITHOUT_TEXT = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
# Files with these suffixes may consist of words, but are keys, signatures, copies, word lists or drawings.
_DATA = frozenset({
    ".pem", ".key", ".crt", ".cer", ".csr", ".crl", ".p7b", ".p7s", ".pub", ".ppk", ".sig", ".gpg", ".pgp",
    ".kdbx", ".ovpn", ".env", ".netrc", ".htpasswd", ".pgpass", ".lock", ".md5", ".sha1", ".sha256", ".sha512", ".sum",
    ".dic", ".aff", ".dict", ".affix", ".stop", ".ps", ".eps", ".xpm", ".xbm", ".pfa", ".afm", ".bdf",
    ".dump", ".bak", ".orig", ".rej", ".swp", ".tmp", ".temp", ".cache", ".pid", *WITHOUT_TEXT, *COMPRESSIONS,
})  # fmt: skip

# The start of a key, a certificate or a signature
_KEY = re.compile(rb"\s{0,99}-----BEGIN [A-Z0-9 ]{1,40}-----|PuTTY-User-Key-File")
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffe\uffff]")
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]|\S+")  # Chinese and Japanese have no spaces between words


def rule_without_text(name: str) -> str | None:
    """The rule that ignores a file because files with its suffix have no text to search; None if there is none."""
    suffix = suffix_of(name)
    return f"{WITHOUT_TEXT[suffix]} ({suffix})" if suffix in WITHOUT_TEXT else None


def check_text(stream: BufferedIOBase, name: str, size: int) -> None:
    """Raise UnreadableError unless a file is text or mail, and GeneratedError if it is ignored; may raise OSError."""
    suffix = suffix_of(name)
    start = stream.read(SNIFFED)
    if _KEY.match(start):
        raise GeneratedError("key or certificate")
    if is_mail(start):
        return
    if suffix:
        stream.seek(0)
        if not reads_as_text(stream, name, size):
            raise UnreadableError(f"{UNKNOWN_FORMAT} {suffix}")
        return
    is_utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not is_utf16 and b"\0" in start and is_binary(start):  # a crash may leave NULs in a log
        raise GeneratedError("binary file without suffix")


def reads_as_text(stream: BufferedIOBase, name: str, size: int) -> bool:
    """Whether a file with an unknown suffix is text for people: UTF-8 in lines of several words, of MOST_BYTES at most.

    Only the start and the middle of `stream` are read, of a file in gzip only the start of its contents. Files in other
    compressions count as unreadable, because unpacking even their start can take much memory. Raises OSError.
    """
    is_packed = suffix_of(name) == ".gz"
    kind = suffix_of(name[: -len(".gz")]) if is_packed else suffix_of(name)
    if size > MOST_BYTES or kind in _DATA:
        return False
    if is_packed:
        try:
            with gzip.GzipFile(fileobj=stream) as contents:
                return _is_text(contents.read(SNIFFED))
        except (OSError, EOFError, zlib.error):
            return False
    start = stream.read(SNIFFED)
    if not _is_text(start):
        return False
    if size <= 3 * SNIFFED:
        return True
    stream.seek(size // 2)
    middle = stream.read(SNIFFED)
    return _is_text(middle[middle.find(b"\n") + 1 :])


def _is_text(data: bytes) -> bool:
    if _KEY.match(data):
        return False
    try:
        # The last line may be cut inside a character.
        text = (data[: data.rfind(b"\n") + 1] or data).decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    if _CONTROL.search(text):
        return False
    text = normal(text)
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or max(map(len, lines)) > LONGEST_LINE:
        return False
    visible = "".join(text.split())
    has_letters = sum(map(str.isalpha, visible)) >= LETTERS * len(visible)
    return has_letters and median(len(_WORD.findall(line)) for line in lines) >= WORDS
