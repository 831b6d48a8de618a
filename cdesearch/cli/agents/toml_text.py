"""Add a table to a text in TOML, or remove it, and leave every other byte as it is."""

import json
import re
import tomllib
from typing import Any

Section = tuple[str, ...]


def value_of(text: bytes) -> Any:
    """The value of a text; raises ValueError."""
    return tomllib.loads(text.decode())


def added(text: bytes, section: Section, name: str, entry: dict[str, Any]) -> bytes:
    """The text with the table of an entry at its end."""
    lines = [f"[{'.'.join((*section, name))}]", *(f"{key} = {_literal(value)}" for key, value in entry.items())]
    newline = "\r\n" if b"\r\n" in text else "\n"
    before = (newline if not text.endswith(b"\n") else "") + newline if text else ""
    return text + (before + newline.join(lines) + newline).encode()


def removed(text: bytes, section: Section, name: str) -> bytes:
    """The text without the table of an entry and the tables in it, whose headers must be lines of their own."""
    header = r"\s*\.\s*".join(rf"[\"']?{re.escape(part)}[\"']?" for part in (*section, name))
    own = re.compile(rf"\s*\[\s*{header}\s*(?:\.[^\]]*)?\]")
    kept: list[str] = []
    ending: list[str] = []  # blank lines and comments, which may belong to the table that follows
    is_own = False
    for line in text.decode().splitlines(keepends=True):
        if line.lstrip().startswith("["):
            is_own = own.match(line) is not None
            kept += [] if is_own else ending
            ending = []
        if not is_own:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            ending.append(line)
        else:
            ending = []
    return "".join([*kept, *ending]).encode()


def _literal(value: Any) -> str:
    """A text or a list of texts in TOML, whose basic strings have the escapes of JSON."""
    return json.dumps(value, ensure_ascii=False)
