"""The commands `train`, `pretrain` and `mine`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

Recipe = Annotated[Path, typer.Argument(help="TOML file; see trainer/recipes.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", help="section.key=value, which replaces the value in the recipe.")
]
Resume = Annotated[bool, typer.Option(help="Continue from the last state in run.out.")]


def train(recipe: Recipe, set_: Overrides = None, resume: Resume = False) -> None:
    """Train a contextual model from pairs of query and document."""
    from trainer.reporting import check_torch

    check_torch()
    from cdesearch.cli.exits import exit_when_stopped

    with exit_when_stopped("Nothing was written."):
        from trainer.execution import say
        from trainer.recipe import load_recipe, parse_override
        from trainer.run.folder import next_step
        from trainer.train import train as run
    settings = load_recipe(recipe, dict(map(parse_override, set_ or [])))
    say(next_step(_run(run, settings, resume=resume)))


def pretrain(recipe: Recipe, set_: Overrides = None, resume: Resume = False) -> None:
    """Pretrain a network on texts alone.

    The kinds condenser and cocondenser continue the training of a BERT, whose checkpoint `cdesearch train` then starts
    from. The kind diffusion trains a network in the shape of Qwen3. See objective.kind of a recipe.
    """
    from trainer.reporting import check_torch

    check_torch()
    from cdesearch.cli.exits import exit_when_stopped

    with exit_when_stopped("Nothing was written."):
        from trainer.execution import say
        from trainer.pretraining.pretrain import next_step
        from trainer.pretraining.pretrain import pretrain as run
        from trainer.pretraining.recipe import load_pretraining_recipe
        from trainer.recipe import parse_override
    settings = load_pretraining_recipe(recipe, dict(map(parse_override, set_ or [])))
    say(next_step(settings, _run(run, settings, resume=resume)))


def _run(run: Callable[..., Path], settings: Any, *, resume: bool) -> Path:
    """The checkpoint of a run; Ctrl-C and SIGTERM end the command after the state is saved."""
    from cdesearch.progress import shown_on_stderr
    from trainer.run.loop import ending_when_stopped

    with ending_when_stopped(settings.run.out), shown_on_stderr() as display:
        return run(settings, display, resume=resume)


def mine(
    pairs: Annotated[Path, typer.Argument(help="Pair file (.jsonl, .jsonl.gz, .parquet), or a folder of them.")],
    out: Annotated[Path, typer.Argument(help="Folder for the pairs with `negatives`, one file for each domain.")],
    model: Annotated[
        Path | None,
        typer.Option(
            help="Model by whose cosines documents are ranked, as for `cdesearch index --model`. Default: BM25."
        ),
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="How many of the best-ranked documents to draw from.")] = 200,
    count: Annotated[int, typer.Option(min=1, max=1_000, help="Hard negatives to draw for each pair, at most.")] = 7,
    margin: Annotated[
        float,
        typer.Option(
            min=0,
            max=1_000,
            help="Leave out documents whose score exceeds that of the pair's own document by more than this share.",
        ),
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random draw.")] = 0,
) -> None:
    """Add hard negatives to training pairs.

    They are documents of the domain that rank high for the query of a pair. The pair's own document, its duplicates,
    and documents of the same query are never chosen. Negatives that a pair already has are kept. Train on OUT with
    batches.hard_negatives. A checkpoint reads the first 128 tokens of each text.
    """
    if model is not None:
        from trainer.reporting import check_torch

        check_torch()
    from cdesearch.cli.exits import exit_when_stopped

    with exit_when_stopped("The same command continues with what is computed so far."):
        from cdesearch.progress import shown_on_stderr
        from trainer.data.pairs.reading import domain_files
        from trainer.mine import Mining, read_domains, told
        from trainer.mine import mine as run

        mining = Mining(model=model, depth=depth, count=count, margin=margin, seed=seed)
        files = domain_files([pairs])
        with shown_on_stderr() as display:
            mined = run(read_domains(files), files, out, mining, display)
    for line in told(mined, out):
        print(line)
