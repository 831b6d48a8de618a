"""Parts of plain text, which is only its lines."""

from parts.part import Part

PARTS = [
    Part("Text", "lines", ".txt", lambda sentence: f"First line.\n{sentence}.\n".encode()),
    Part("Text", "a byte order mark", ".txt", lambda sentence: f"First line.\n{sentence}.\n".encode("utf-8-sig")),
]
