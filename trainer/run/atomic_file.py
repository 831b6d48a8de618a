"""A file that is there whole or as it was before, whenever the process dies."""

from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write `text` beside `file`, then in its place."""
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)
