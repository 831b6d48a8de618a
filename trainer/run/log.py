"""The log of a run: log.jsonl."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.errors import InputError
from trainer.replacing import writing

FILE = "log.jsonl"


class Log:
    """Appends the numbers of a run, one line at a time; `anew` deletes the lines of an earlier run."""

    def __init__(self, folder: Path, *, anew: bool) -> None:
        self._file = folder / FILE
        if anew:
            self._file.unlink(missing_ok=True)
        elif self._file.exists():
            _cut_torn_line(self._file)

    def write(self, step: int, seconds: float, figures: Mapping[str, Any]) -> None:
        """Append a line; `seconds` is the training time so far."""
        line = {"step": step, "seconds": round(seconds, 2), **figures}
        with writing(self._file), self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run in order. A step that was repeated after an interruption has only its last line.

    A last line that a kill has cut off is left out. Raises InputError if another line is not as it was written.
    """
    file = folder / FILE
    lines: dict[Any, dict[str, Any]] = {}
    texts = file.read_bytes().split(b"\n")
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
            lines[line["step"], "loss" in line, "held_out" in line] = line
        except (ValueError, TypeError, KeyError):
            if number == len(texts):  # it has no end: empty, or torn
                continue
            raise InputError(f"{file}:{number} is not a line of a log.", "Remove the line.") from None
    return sorted(lines.values(), key=lambda line: line["step"])


def _cut_torn_line(file: Path) -> None:
    """Remove the last line if a kill has cut it off, because the next one would be joined to it."""
    content = file.read_bytes()
    if not content.endswith(b"\n"):
        with writing(file), file.open("r+b") as stream:
            stream.truncate(content.rfind(b"\n") + 1)
