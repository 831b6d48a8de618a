"""The files of an indexed folder from which pictures are made: opened as a build opens them, and drawn elsewhere.

Only a file that the walk of the index has found is opened, and no link below the folder is followed. So a request can
name neither a file that is hidden or excluded, nor one outside of the folder.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from io import BytesIO
from pathlib import PurePath
from typing import Any

from cdesearch.child_process import python_module, same_modules
from cdesearch.errors import NotIndexedError
from cdesearch.search.documents import DocumentReader
from cdesearch.store.file_account import FileRecord
from cdesearch.store.index import Index
from cdesearch.store.opening import RegularFile, hash_contents
from cdesearch.store.schema import EDGE
from cdesearch.store.trust import real

MAX_PDF_BYTES, MAX_IMAGE_BYTES = 50_000_000, 10_000_000
SECONDS = 10  # in which a page must be drawn
TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".avif": "image/avif", ".svg": "image/svg+xml"
}  # fmt: skip
DRAW = python_module("cdesearch.serve.page_picture")


def read_image(index: Index, path: str) -> tuple[bytes, str]:
    """The contents and the media type of an image; raises NotIndexedError, or IndexUntrustedError."""
    if not _is_image(_record_of(index, path)):
        raise _nothing(path)
    return _contents(index, path, MAX_IMAGE_BYTES), TYPES[PurePath(path).suffix.lower()]


def image_paths(index: Index) -> frozenset[str]:
    """The paths of all images that `read_image` may read."""
    return frozenset(record.path for record in index.file_records() if _is_image(record))


def read_pdf(index: Index, path: str) -> tuple[bytes, str]:
    """The contents of a PDF and their hash, if it is as it was indexed; raises as `read_image` does."""
    record = _record_of(index, path)
    if record.outcome != "indexed" or PurePath(path).suffix.lower() != ".pdf":
        raise _nothing(path)
    contents = _contents(index, path, MAX_PDF_BYTES)
    if hash_contents(BytesIO(contents)) != record.file_hash:
        raise NotIndexedError(f"{path:.200} has changed since it was indexed.", "Run `cdesearch index` again.")
    return contents, record.file_hash


def scanned_lines(index: Index, path: str, page: int) -> list[tuple[str | float, ...]]:
    """The recognised lines of a page of a PDF, each with its words and its edges, from 0 to 1.

    A page with text of its own has none.
    """
    chunks = DocumentReader(index).file(path) if index.manifest.has_ocr else ()
    own = (chunk for chunk in chunks if chunk.record is None)  # not of a file inside the PDF
    lines = (line for chunk in own for line in chunk.inlines if line.edges[:1] == (page,))
    return [(line.words, *(edge / EDGE for edge in line.edges[1:])) for line in lines]


def draw_page(
    pdf: bytes, page: int, width: int, words: Sequence[str], quote: str, lines: Sequence[Any]
) -> tuple[bytes, int, int]:
    """A page of a PDF as a PNG of a width in pixels, with the stems `words` and a quotation marked, also on `lines`.

    Returns also the number of pages, and the height of the middle mark in percent from the top. Another process draws,
    because a hostile file can make it crash. Raises NotIndexedError if it fails.
    """
    asked = json.dumps({"page": page, "width": width, "words": words, "quote": quote, "lines": lines}).encode()
    try:
        drawn = subprocess.run(
            [*DRAW, str(os.getpid())],
            input=asked + b"\n" + pdf,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=same_modules(),
            timeout=SECONDS,
            check=True,
        )
        numbers, _, picture = drawn.stdout.partition(b"\n")
        count, middle = map(int, numbers.split())
    except (OSError, ValueError, subprocess.SubprocessError):
        raise NotIndexedError(f"Page {page} cannot be drawn.", "Read its text instead.") from None
    return picture, count, middle


def _is_image(record: FileRecord) -> bool:
    suffix = PurePath(record.path).suffix.lower()
    # A build leaves images out by this rule, or reads their text. Other rules are those by which files are hidden.
    return suffix in TYPES and (record.outcome != "ignored" or record.reason == f"image ({suffix})")


def _record_of(index: Index, path: str) -> FileRecord:
    record = next((record for record in index.file_records() if record.path == path), None)
    if record is None:  # such as a file in an archive
        raise _nothing(path)
    return record


def _contents(index: Index, path: str, most: int) -> bytes:
    index.require_trust(model=False)
    file = index.root / path
    source = next((source for source in index.sources if file.is_relative_to(source)), None)
    if source is None or ".." in file.parts:  # a forged index may name any path
        raise _nothing(path)
    top = real(source)
    try:
        with RegularFile(file) if source == file else RegularFile(top / file.relative_to(source), top) as stream:
            if stream.size <= most:
                return stream.read()
    except (OSError, ValueError):  # a ValueError: a name with a null byte
        pass
    raise _nothing(path)


def _nothing(path: str) -> NotIndexedError:
    return NotIndexedError(f"There is no picture of {path:.200}.", "Read the text of documents at /documents.")
