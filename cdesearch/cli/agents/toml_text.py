"""Add a table to a text in TOML, or remove it, and leave every other line as it is."""

import json
import re
import tomllib
from typing import Any

Section = tuple[str, ...]


def value_of(text: str) -> Any:
    """The value of a text; raises ValueError."""
    return tomllib.loads(text)


def added(text: str, section: Section, name: str, entry: dict[str, Any]) -> str:
    """The text with the table of an entry at its end."""
    # Basic strings of TOML have the escapes of JSON.
    values = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())
    newline = "\r\n" if "\r\n" in text else "\n"
    before = (newline if not text.endswith("\n") else "") + newline if text else ""
    return text + before + newline.join([f"[{'.'.join((*section, name))}]", *values]) + newline


def removed(text: str, section: Section, name: str) -> str:
    """The text without the table of an entry and the tables in it, whose headers must be lines of their own."""
    header = r"\s*\.\s*".join(rf"[\"']?{re.escape(part)}[\"']?" for part in (*section, name))
    own = re.compile(rf"\s*\[\s*{header}\s*(?:\.[^\]]*)?\]")
    kept: list[str] = []
    ending: list[str] = []  # blank lines and comments, which may belong to the table that follows
    is_own = False
    for line in text.splitlines(keepends=True):
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
    return "".join([*kept, *ending])
