"""The `train` command."""

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
    from cdesearch.cli.exits import exit_when_stopped

    with exit_when_stopped("Nothing was written."):
        from cdesearch.progress import shown_on_stderr
        from trainer.execution.distributed import is_first, say
        from trainer.run.checkpoint import STATE
        from trainer.run.folder import kept_data, next_step
        from trainer.run.plot import draw_run
        from trainer.run.stop import exit_code
        from trainer.train import train as run
    try:
        with shown_on_stderr() as display:
            folder = run(settings, display, resume=resume)
            if plot and is_first():
                display.note(f"Written to {draw_run(settings.run.out)}")
    except KeyboardInterrupt as error:
        if (settings.run.out / STATE).exists():
            say("Stopped. The state is saved: the same command with --resume continues.")
        else:
            say(f"Stopped before a state was saved. {kept_data(settings.run)} The same command begins again.")
        raise typer.Exit(exit_code(error)) from None
    say(next_step(folder))
