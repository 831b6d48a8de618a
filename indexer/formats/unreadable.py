"""What cannot be read or is not worth reading: the errors, the kinds of files without text, and names in a message."""

from collections.abc import Iterable
from itertools import islice

SHOWN_NAMES = 10
SHOWN_CHARACTERS = 200

# Kinds of files without text to search. They are ignored, not reported as skipped.
_SUFFIXES = {
    "image": ".png .jpg .jpeg .gif .bmp .ico .icns .webp .avif .heic .heif .tif .tiff .svg .psd .xcf .raw .cr2 .nef",
    "sound": ".mp3 .wav .ogg .oga .opus .flac .aac .m4a .wma .aiff .mid .midi",
    "video": ".mp4 .m4v .mkv .mov .avi .webm .wmv .flv .mpg .mpeg .ogv",
    "font": ".ttf .otf .woff .woff2 .eot .pfb",
    "compiled code": ".pyc .pyo .pyd .o .obj .a .lib .so .dll .dylib .exe .class .wasm .elc .mo .map",
}
WITHOUT_TEXT = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


class UnreadableError(Exception):
    """A file cannot be read; the message is the reason, for the list of skipped files."""


class GeneratedError(UnreadableError):
    """A file was written by a program for programs; the message is the rule that ignores it."""


def listed(names: Iterable[object]) -> str:
    """Names from a file, joined for a message: at most SHOWN_NAMES of them and SHOWN_CHARACTERS in all."""
    first = islice(names, SHOWN_NAMES + 1)
    shown = [" ".join(str(name)[:SHOWN_CHARACTERS].split()) for name in first]
    text = ", ".join(shown[:SHOWN_NAMES])
    is_cut = len(shown) > SHOWN_NAMES or len(text) > SHOWN_CHARACTERS
    return text[:SHOWN_CHARACTERS] + (", ..." if is_cut else "")
