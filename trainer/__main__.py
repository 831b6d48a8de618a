"""Training from a plain checkout, which needs torch, numpy, tokenizers and safetensors alone.

    python -m trainer RECIPE [--resume] [--minutes N] [--set section.key=value]...

Under torchrun, `torchrun --nproc-per-node N -m trainer RECIPE ...`, N processes share the work.

Exit codes: 0 when the run or its slot of N minutes is complete, 2 for bad input, 70 for a defect, 130 for Ctrl-C
and 143 for SIGTERM.
"""

import os
import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # while modules are imported, Ctrl-C shows no traceback

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cdesearch.cli.exits import exit_when_stopped, raise_on_signal
from cdesearch.progress import PlainLines
from trainer.reporting import Parser, reported
from trainer.torch_needed import absent_library


def main(arguments: Sequence[str] | None = None) -> int:
    """Train; returns the exit code. Every error is one line on stderr."""
    started = time.monotonic()
    return reported(lambda: _train(_parser().parse_args(arguments), started))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m trainer", description="Train a contextual model from pairs of query and document.")
    parser.add_argument("recipe", type=Path, help="TOML file; see trainer/recipes")
    parser.add_argument("--resume", action="store_true", help="continue from the state in run.out, if there is one")
    parser.add_argument("--minutes", type=_minutes, help="save the state and end after so many minutes")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set section.key of the recipe")
    return parser


def _minutes(text: str) -> float:
    with suppress(ValueError):
        if 0 < (minutes := float(text)) < float("inf"):
            return minutes
    raise argparse.ArgumentTypeError(f"{text} is not a number above 0")


def _train(options: argparse.Namespace, started: float) -> int:
    from trainer.recipe import load_recipe
    from trainer.recipe_file import parse_override

    recipe = load_recipe(options.recipe, dict(map(parse_override, options.set)))
    if absent := absent_library():  # before torch is imported, which warns if numpy is missing
        raise ModuleNotFoundError(name=absent)
    with exit_when_stopped("Nothing was written."):
        from trainer.execution.distributed import is_first, say
        from trainer.rounds import train_in_rounds
        from trainer.run.folder import has_begun, kept_data, next_step, stored_blocks
        from trainer.run.stop import exit_code
        from trainer.run.time_limit import OutOfTime, TimeLimit
    resume = options.resume and has_begun(recipe.run)
    if options.resume and not resume:
        say(f"{recipe.run.out} has no state yet: the run begins.")
    before = stored_blocks(recipe.run)
    limit = TimeLimit(None if options.minutes is None else started + 60 * options.minutes)
    try:
        folder = train_in_rounds(recipe, PlainLines(), resume=resume, limit=limit)
    except OutOfTime:
        resume = options.resume or has_begun(recipe.run)
        over = f"The time is over (--minutes {options.minutes:g})"
        if is_first() and stored_blocks(recipe.run) <= before:
            again = _again(options, resume=resume, minutes=2 * options.minutes)
            say(f"{over}, and nothing new is stored: the next block needs more minutes. To continue: {again}")
        else:
            say(f"{over}. To continue: {_again(options, resume=resume, minutes=options.minutes)}")
        return 0
    except KeyboardInterrupt as error:
        if has_begun(recipe.run):
            say(f"Stopped. To continue: {_again(options, resume=True, minutes=options.minutes)}")
        else:
            again = _again(options, resume=options.resume, minutes=options.minutes)
            say(f"Stopped before a state was saved. {kept_data(recipe.run)} To begin again: {again}")
        return exit_code(error)
    say(f"The checkpoint is in {folder}. {next_step(folder)}")
    return 0


def _again(options: argparse.Namespace, *, resume: bool, minutes: float | None) -> str:
    """The command that goes on, in as many processes."""
    n_processes = os.environ.get("LOCAL_WORLD_SIZE", "1")  # of torchrun, on this machine
    program = ["python"] if n_processes == "1" else ["torchrun", "--nproc-per-node", n_processes]
    words = [*program, "-m", "trainer", str(options.recipe), *(["--resume"] if resume else [])]
    if minutes is not None:
        words += ["--minutes", f"{minutes:g}"]
    return shlex.join(words + [f"--set={override}" for override in options.set])


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        raise_on_signal(signal.SIGINT)
    sys.exit(main())
