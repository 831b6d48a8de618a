"""The log of a run: log.jsonl, and files of TensorBoard if it is installed."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trainer.replacing import writing

FILE = "log.jsonl"
BOARD = "tensorboard"  # the folder of the files of TensorBoard


class Log:
    """Appends the numbers of a run, one line at a time; `anew` deletes the lines of an earlier run."""

    def __init__(self, folder: Path, *, anew: bool) -> None:
        self._file = folder / FILE
        if anew:
            self._file.unlink(missing_ok=True)
        self._board: Any = None
        if find_spec("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(folder / BOARD)

    def write(self, step: int, seconds: float, figures: dict[str, Any]) -> None:
        """Append a line; `seconds` is the training time so far."""
        line = {"step": step, "seconds": round(seconds, 2), **figures}
        with writing(self._file), self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        if self._board is not None:
            for name, value in _numbers(figures):
                self._board.add_scalar(name, value, step)


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run in order. A step that was repeated after an interruption has only its last line."""
    lines: dict[Any, dict[str, Any]] = {}
    for text in (folder / FILE).read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        lines[line["step"], line.get("evaluation"), "loss" in line, "held_out" in line] = line
    return sorted(lines.values(), key=lambda line: line["step"])


def _numbers(figures: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    if "evaluation" in figures:
        prefix = f"{figures['evaluation']}/"
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{name}/")
        elif not isinstance(value, str):
            yield prefix + name, value
