"""A glob over paths to a SQL condition for LanceDB."""

import re


def path_condition(glob: str) -> str:
    """SQL on column `path`: `*` and `?` stay inside one folder, `**` crosses; a bare folder means all below it."""
    pattern = glob.removeprefix("./").rstrip("/")
    expression = _regex(pattern)
    below = "" if any(mark in pattern.rsplit("/", 1)[-1] for mark in "*?[") else "(/.*)?"
    anchored = f"^{expression}{below}$" if "/" in pattern else f"(^|/){expression}{below}$"
    return "regexp_like(path, '" + anchored.replace("'", "''") + "')"


def _regex(pattern: str) -> str:
    parts = re.split(r"(\*\*/?|\*|\?|\[[^\]]+\])", pattern)
    known = {"**": ".*", "**/": "(.*/)?", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        known.get(part) or ("[" + part[1:-1].replace("!", "^", 1) + "]" if part.startswith("[") else re.escape(part))
        for part in parts
    )
