"""Replacing a file so that a crash leaves either the old contents or the new."""

from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write `text` to a temporary file, then rename it to `file`."""
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)
