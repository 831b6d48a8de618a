"""Training from a plain checkout, which needs torch, numpy, tokenizers, safetensors and msgspec alone.

    python -m trainer RECIPE [--resume] [--set section.key=value]...

With --resume, a run that has not begun begins. The same command can therefore be repeated until the run is complete,
for instance with `timeout --signal=INT 9m` before it, on a machine that is available for ten minutes at a time. Under
torchrun, `torchrun --nproc-per-node N -m trainer RECIPE ...`, each of N processes has its own batches.

Exit codes: 0 when the run is complete, 2 for bad input, 70 for a defect, 130 for Ctrl-C, 141 for a
closed pipe and 143 for SIGTERM.
"""

import os
import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # while modules are imported, Ctrl-C shows no traceback

import sys
from collections.abc import Sequence
from pathlib import Path

from cdesearch.cli.exits import exit_when_stopped, raise_on_signal
from cdesearch.progress import PlainLines
from trainer.reporting import Parser, check_torch, reported


@reported
def main(arguments: Sequence[str] | None = None) -> int:
    """Train; returns the exit code. Every error is one line on stderr."""
    parser = Parser(prog="python -m trainer", description="Train a contextual model from pairs of query and document.")
    parser.add_argument("recipe", type=Path, help="TOML file; see trainer/recipes")
    parser.add_argument("--resume", action="store_true", help="continue from the state in run.out, if there is one")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set section.key of the recipe")
    options = parser.parse_args(arguments)
    check_torch()  # before torch is imported, which warns if numpy is missing
    with exit_when_stopped("Nothing was written."):
        from trainer.execution import say
        from trainer.recipe import load_recipe, parse_override
        from trainer.run.folder import next_step
        from trainer.run.loop import ending_when_stopped
        from trainer.run.state import STATE
        from trainer.train import train
    recipe = load_recipe(options.recipe, dict(map(parse_override, options.set)))
    resume = options.resume and (recipe.run.out / STATE).exists()
    if options.resume and not resume:
        say(f"{recipe.run.out} has no state yet: the run begins.")
    with ending_when_stopped(recipe.run.out):
        folder = train(recipe, PlainLines(), resume=resume)
    say(f"The checkpoint is in {folder}. {next_step(folder)}")
    return 0


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        raise_on_signal(signal.SIGINT)
    sys.exit(main())
