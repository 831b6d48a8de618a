"""Training from a plain checkout, which needs torch, numpy, tokenizers and safetensors alone.

    python -m trainer RECIPE [--resume] [--minutes N] [--set section.key=value]...

Exit codes: 0 when the run or its slot of N minutes is complete, 2 for bad input, 70 for a defect, 130 for Ctrl-C
and 143 for SIGTERM.
"""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import CdesearchError, InputError
from cdesearch.terminal import printable

DONE, BAD_INPUT, DEFECT, INTERRUPTED = 0, 2, 70, 130
NEEDED = ("torch", "numpy", "tokenizers", "safetensors")
TRACEBACK = "CDESEARCH_TRACEBACK"  # the environment variable that shows the traceback of a defect


def main(arguments: Sequence[str] | None = None) -> int:
    """Train; returns the exit code. Every error is one line on stderr."""
    started = time.monotonic()
    try:
        options = _parser().parse_args(arguments)
        return _train(options, started)
    except CdesearchError as error:
        return _report(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _report("Stopped.", INTERRUPTED)
    except ModuleNotFoundError as error:
        return _report(f"{error.name} is not installed. Run `pip install {' '.join(NEEDED)}`.", BAD_INPUT)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        reason = str(error).partition("\n")[0][:200]
        return _report(
            f"This is a defect of cdesearch: {type(error).__name__}: {reason}. Please report it with the traceback that"
            f" {TRACEBACK}=1 shows.",
            DEFECT,
        )


class _Parser(argparse.ArgumentParser):
    """Reports wrong options in one line, without the usage that argparse prints before it."""

    def error(self, message: str) -> None:  # type: ignore[override] # raises, as the original exits
        raise InputError(f"{message[:1].upper()}{message[1:]}.", f"See `{self.prog} --help`.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m trainer", description="Train a contextual model from pairs of query and document.")
    parser.add_argument("recipe", type=Path, help="TOML file; see trainer/recipes")
    parser.add_argument("--resume", action="store_true", help="continue from the state in run.out, if there is one")
    parser.add_argument("--minutes", type=_minutes, help="save the state and end after so many minutes")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="replace section.key")
    return parser


def _minutes(text: str) -> float:
    with suppress(ValueError):
        if 0 < (minutes := float(text)) < float("inf"):
            return minutes
    raise argparse.ArgumentTypeError(f"{text} is not a number above 0")


def _train(options: argparse.Namespace, started: float) -> int:
    from trainer.recipe import load_recipe, parse_override

    recipe = load_recipe(options.recipe, dict(map(parse_override, options.set)))
    from trainer.run.checkpoint import STATE
    from trainer.run.plain_lines import PlainLines
    from trainer.run.stop import exit_code
    from trainer.run.time_limit import OutOfTime, TimeLimit
    from trainer.train import train

    display = PlainLines()
    state = recipe.run.out / STATE
    if options.resume and not state.exists():
        display.note(f"{recipe.run.out} has no state yet: the run begins.")
    limit = TimeLimit(None if options.minutes is None else started + 60 * options.minutes)
    try:
        folder = train(recipe, display, resume=options.resume and state.exists(), limit=limit)
    except OutOfTime:
        print(f"The {options.minutes:g} minutes are over. To continue: {_again(options)}", file=sys.stderr)
        return DONE
    except KeyboardInterrupt as error:
        print(f"Stopped. To continue: {_again(options)}", file=sys.stderr)
        return exit_code(error)
    print(f"The checkpoint is in {folder}. Next: cdesearch index FOLDER --model {folder}", file=sys.stderr)
    return DONE


def _again(options: argparse.Namespace) -> str:
    words = ["python", "-m", "trainer", str(options.recipe), "--resume"]
    if options.minutes is not None:
        words += ["--minutes", f"{options.minutes:g}"]
    return shlex.join(words + [f"--set={override}" for override in options.set])


def _report(message: str, code: int) -> int:
    print(f"error: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
