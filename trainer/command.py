"""The `train` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def train(
    recipe: Annotated[Path, typer.Argument(help="TOML file; see trainer/recipes.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value, which replaces the value in the recipe.")
    ] = None,
    resume: Annotated[bool, typer.Option(help="Continue from the last state in run.out.")] = False,
    plot: Annotated[bool, typer.Option(help="Draw a chart of the run, run.svg, at the end.")] = False,
) -> None:
    """Train a contextual model from pairs of query and document."""
    from trainer.recipe import load_recipe, parse_override
    from trainer.torch_needed import check_torch

    settings = load_recipe(recipe, dict(map(parse_override, set_ or [])))
    check_torch()
    from cdesearch.progress import shown_on_stderr
    from trainer.run.checkpoint import state_stamp
    from trainer.run.plot import draw_run
    from trainer.run.stop import exit_code
    from trainer.train import train as run

    before = None if resume else state_stamp(settings.run.out)
    try:
        with shown_on_stderr() as display:
            folder = run(settings, display, resume=resume)
            if plot:
                display.note(f"Written to {draw_run(settings.run.out)}")
    except KeyboardInterrupt as error:
        if state_stamp(settings.run.out) == before:
            print("Stopped before a state was saved. The same command begins again.", file=sys.stderr)
        else:
            print("Stopped. The state is saved: the same command with --resume continues.", file=sys.stderr)
        raise typer.Exit(exit_code(error)) from None
    print(f"Next: cdesearch index FOLDER --model {folder}", file=sys.stderr)
