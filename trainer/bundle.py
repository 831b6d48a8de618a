"""Write what a recipe reads, its pairs and its models, as files of at most 60 MiB for another machine.

    python -m trainer.bundle RECIPE OUT [--set section.key=value]...

The command writes one .jsonl.gz file for each domain into OUT, with at most `data.cap` pairs and without leaks, and the
start and the surrogate into the folders OUT/start and OUT/surrogate. Longer files are written in parts, which
`python -m trainer.parcel join OUT` joins on the other machine. Training there needs no pyarrow, makes the same batches
as training on the original pairs, and needs neither these nor the sets of `data.keep_out`.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from trainer.torch_needed import exit_without_torch

if __name__ == "__main__":
    exit_without_torch(__doc__)  # before the imports below, which need torch

from cdesearch.cli.exits import exit_when_stopped
from cdesearch.errors import InputError
from cdesearch.models.hub import checkpoint_folder
from cdesearch.progress import Display, shown_on_stderr
from cdesearch.terminal import counted
from trainer.data.pairs.domains import prepare
from trainer.data.pairs.reading import domain_files
from trainer.data.pairs.writing import new_pair_files
from trainer.parcel import split
from trainer.recipe import Recipe, load_recipe
from trainer.recipe_file import parse_override
from trainer.replacing import remove, writing
from trainer.reporting import Parser, reported
from trainer.run.folder import claimed_data_folder
from trainer.run.parts import PART, remove_parts, write_parts
from trainer.run.sources import START_FILES


def bundle(recipe: Recipe, out: Path, display: Display) -> list[Path]:
    """Write pairs and models of a recipe into `out`; returns the files of the pairs. Raises CdesearchError.

    After an exception, Ctrl-C included, `out` has none of them, so that the same command can be given again.
    """
    models = _models(recipe, out)
    files: list[Path] = []
    try:
        _write_pairs(recipe, out, files, display)
        for name, (model, target) in models.items():
            display.note(f"Copying {model}")
            needed = [file for file in (model / one for one in START_FILES) if file.is_file()]
            split(model, target, needed if name == "model.start" else None)
    except BaseException:
        for file in files:
            remove_parts(file)
            remove(file)
        for _, target in models.values():
            remove(target)
        raise
    return files


def _write_pairs(recipe: Recipe, out: Path, files: list[Path], display: Display) -> None:
    """Write the pairs of a recipe into `out`, and append each file to `files` once it is there."""
    inputs = domain_files(recipe.data.pairs, recipe.data.leave_out)
    with new_pair_files(out, inputs) as write, claimed_data_folder(recipe.run) as work:
        domains = prepare(inputs, work, recipe.data.keep_out, recipe.data.groups)
        advance = display.stage("Writing pairs", len(domains))
        written = []
        for domain in domains:
            drawn = domain.at_most(recipe.data.cap, recipe.run.seed)
            written.append(write(domain.name, drawn.take(range(len(drawn)))))
            advance(1)
    files += written
    for file in (file for file in files if file.stat().st_size > PART):
        with writing(file):
            write_parts(file, memoryview(file.read_bytes()))


def _models(recipe: Recipe, out: Path) -> dict[str, tuple[Path, Path]]:
    """The folder of each model that the recipe names, and its copy in `out`; raises InputError if that exists."""
    models = {"model.start": (recipe.model.start, out / "start")}
    if recipe.run.surrogate is not None:
        models["run.surrogate"] = (checkpoint_folder(recipe.run.surrogate), out / "surrogate")
    for key, (model, target) in models.items():
        if not model.is_dir():
            raise InputError(f"{key} is {model}, and there is no such folder.", "Name the folder of a model.")
        if target.exists():
            raise InputError(f"{target} exists.", "Name a new or empty folder.")
    return models


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a bundle; returns the exit code. Every error is one line on stderr."""
    return reported(lambda: _bundle(arguments))


def _bundle(arguments: Sequence[str] | None) -> int:
    parser = Parser(
        prog="python -m trainer.bundle", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", type=Path, help="TOML file; see trainer/recipes")
    parser.add_argument("out", type=Path, help="new folder for the files")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set section.key of the recipe")
    options = parser.parse_args(arguments)
    recipe = load_recipe(options.recipe, dict(map(parse_override, options.set)))
    with exit_when_stopped("The same command continues."), shown_on_stderr() as display:
        files = bundle(recipe, options.out, display)
    size = sum(file.stat().st_size for file in options.out.rglob("*") if file.is_file()) / 2**20
    print(f"The pairs of {counted(len(files), 'domain')} and the models, {size:.1f} MiB, are in {options.out}.")
    print("To train on them, copy the folder and the recipe, and run in a checkout:")
    print(shlex.join(["python", "-m", "trainer.parcel", "join", str(options.out)]))
    overrides = [f'data.pairs=["{options.out}"]', "data.leave_out=[]", "data.keep_out=[]", "data.groups={}"]
    overrides.append(f'model.start="{options.out / "start"}"')
    if recipe.run.surrogate is not None:
        overrides.append(f'run.surrogate="{options.out / "surrogate"}"')
    print(shlex.join(["python", "-m", "trainer", str(options.recipe), *(f"--set={key}" for key in overrides)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
