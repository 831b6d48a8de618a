"""The command `pretrain`."""

from pathlib import Path
from typing import Annotated

import typer


def pretrain(
    recipe: Annotated[Path, typer.Argument(help="TOML file; see trainer/recipes/pretraining.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value, which replaces the value in the recipe.")
    ] = None,
    resume: Annotated[bool, typer.Option(help="Continue from the last state in run.out.")] = False,
) -> None:
    """Pretrain a network on texts alone.

    The kinds condenser and cocondenser continue the training of a BERT, whose checkpoint `cdesearch train` then starts
    from. The kinds causal and diffusion train a small network in the shape of Qwen3. See objective.kind of a recipe.
    """
    from trainer.pretraining.recipe import load_pretraining_recipe
    from trainer.recipe_file import parse_override
    from trainer.torch_needed import check_torch

    settings = load_pretraining_recipe(recipe, dict(map(parse_override, set_ or [])))
    check_torch()
    from cdesearch.cli.exits import exit_when_stopped

    with exit_when_stopped("Nothing was written."):
        from cdesearch.progress import shown_on_stderr
        from trainer.execution.distributed import say
        from trainer.pretraining.pretrain import next_step
        from trainer.pretraining.pretrain import pretrain as run
        from trainer.run.checkpoint import STATE
        from trainer.run.stop import exit_code
    try:
        with shown_on_stderr() as display:
            folder = run(settings, display, resume=resume)
    except KeyboardInterrupt as error:
        if (settings.run.out / STATE).exists():
            say("Stopped. The state is saved: the same command with --resume continues.")
        else:
            say("Stopped before a state was saved. The same command begins again.")
        raise typer.Exit(exit_code(error)) from None
    say(next_step(settings, folder))
