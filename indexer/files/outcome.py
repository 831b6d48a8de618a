"""The outcome of one file, which is read, skipped or ignored; one of an unknown kind is read if its start is text."""

import gzip
import os
import re
import stat
import zlib
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from statistics import median

from cdesearch.builders import UnreadFile
from cdesearch.store.filesystem import relative_posix
from cdesearch.terminal import counted
from cdesearch.words.characters import normal
from indexer.files.opening import NOT_REGULAR, open_regular
from indexer.formats.compressed import NAMES as COMPRESSIONS
from indexer.formats.encoding import is_binary
from indexer.formats.format import suffix_of
from indexer.formats.mail import is_mail
from indexer.formats.registry import format_of

UNKNOWN_FORMAT = "unknown format"
LATEST = 2**63 - 1  # the largest time in ns that a table holds: the year 2262. File systems allow later ones.
LITERAL_ESCAPE = re.compile(r"\\(?=x[0-9a-f]{2})")  # in a file name; it looks like the escape of a byte
MOST_COMPRESSED = 1_000  # no file system compresses text as much
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

_KEY = re.compile(rb"\s{0,99}-----BEGIN [A-Z0-9 ]{1,40}-----|PuTTY-User-Key-File")
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffe\uffff]")
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]|\S+")  # Chinese and Japanese have no spaces between words


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read."""

    location: str  # absolute; not a Path, of which a folder of 100,000 files would need as many
    path: str  # relative to the root, "/" between parts, always valid UTF-8
    size: int
    mtime_ns: int
    top: Path | None = None  # the folder that was walked, below which links are not followed; None for a named file
    is_wanted: bool = False  # whether the user named it, so that it is read although a program has written it
    ctime_ns: int | None = None  # of the last change of contents or attributes, which no program can set

    @property
    def file(self) -> Path:
        """Where the file is."""
        return Path(self.location)


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file, or a folder ("/" at its end), that is not meant to be read, and the rule that excludes it."""

    path: str
    rule: str


Found = Source | UnreadFile | Ignored


def portable(file: Path, root: Path) -> str:
    """`file` relative to `root` as valid UTF-8; other bytes become escapes such as `\\xff`. Names stay distinct."""
    return as_utf8(relative_posix(str(file), str(root)))


def as_utf8(name: str) -> str:
    """A name as valid UTF-8, with escapes for other bytes."""
    if "\\" in name:
        name = LITERAL_ESCAPE.sub(r"\\x5c", name)
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def file_outcome(
    location: str, path: str, found: os.stat_result, max_bytes: int, top: Path | None = None
) -> Source | UnreadFile:
    """The outcome for a file that no rule excludes.

    `location` is its absolute path, `path` is shown to users, and `top` is the folder of the walk.
    """
    if not stat.S_ISREG(found.st_mode):
        return UnreadFile(path, NOT_REGULAR)
    if found.st_size > max_bytes and not _is_streamed(Path(location), top):
        return UnreadFile(path, f"larger than {_size(max_bytes)} (--max-file-size)")
    blocks: int | None = getattr(found, "st_blocks", None)  # of 512 bytes; Windows has none
    if found.st_size > max_bytes and blocks is not None and blocks * 512 * MOST_COMPRESSED < found.st_size:
        return UnreadFile(path, "a sparse file: almost nothing of it is on the disk")
    mtime_ns, ctime_ns = found.st_mtime_ns, found.st_ctime_ns
    if not (-LATEST <= mtime_ns <= LATEST and -LATEST <= ctime_ns <= LATEST):
        mtime_ns, ctime_ns = (max(-LATEST, min(time, LATEST)) for time in (mtime_ns, ctime_ns))
    return Source(location, path, found.st_size, mtime_ns, top, False, ctime_ns)


def _is_streamed(file: Path, top: Path | None) -> bool:
    """Whether a file is read piece by piece, as its name says or else its first bytes."""
    with suppress(OSError), open_regular(file, top) as stream:
        return format_of(file.name, stream).streams
    return format_of(file.name).streams


def reason_of(error: OSError) -> str:
    """The reason for which a file or folder cannot be opened, as it is shown to users."""
    return (error.strerror or "cannot be opened").lower()


def unknown_outcome(name: str, shown: str, size: int, location: str, top: Path) -> Found | None:
    """The outcome for a file whose name no format lists; None for text and mail, which are read. Raises OSError."""
    suffix = suffix_of(name)
    if suffix in WITHOUT_TEXT:
        return Ignored(shown, f"{WITHOUT_TEXT[suffix]} ({suffix})")
    if not suffix and not size:
        return None
    with open_regular(Path(location), top) as stream:
        start = stream.read(SNIFFED)
        if is_key(start):
            return Ignored(shown, "key or certificate")
        if is_mail(start):
            return None
        if suffix:
            stream.seek(0)
            is_text = reads_as_text(stream, name, size)
            return None if is_text else UnreadFile(shown, f"{UNKNOWN_FORMAT} {as_utf8(suffix)}")
    is_utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    is_text = is_utf16 or b"\0" not in start or not is_binary(start)  # a crash may leave NULs in a log
    return None if is_text else Ignored(shown, "binary file without suffix")


def _size(n_bytes: int) -> str:
    """A number of bytes with a suitable unit, such as "20 MB"."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.12g} {name}"
    return counted(n_bytes, "byte")


def is_key(start: bytes) -> bool:
    """Whether a file that begins with these bytes is a key, a certificate or a signature."""
    return _KEY.match(start) is not None


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
        return _is_text(_unpacked_start(stream))
    start = stream.read(SNIFFED)
    if not _is_text(start):
        return False
    if size <= 3 * SNIFFED:
        return True
    stream.seek(size // 2)
    middle = stream.read(SNIFFED)
    return _is_text(middle[middle.find(b"\n") + 1 :])


def _unpacked_start(stream: BufferedIOBase) -> bytes:
    """The first bytes of the contents of a file in gzip; none if it is broken."""
    try:
        with gzip.GzipFile(fileobj=stream) as contents:
            return contents.read(SNIFFED)
    except (OSError, EOFError, zlib.error):
        return b""


def _is_text(data: bytes) -> bool:
    if is_key(data):
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
