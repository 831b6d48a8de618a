"""Write the pairs of a recipe, at most `data.cap` of each domain and without leaks, as files for another machine.

    python -m trainer.bundle RECIPE OUT [--set section.key=value]...

The command writes one .jsonl.gz file for each domain into OUT. The files have at most 60 MiB, can be copied one by one,
and need no pyarrow. Training on them makes the same batches as training on the original pairs, and needs neither these
nor the sets of `data.keep_out`.
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
from cdesearch.progress import Display, shown_on_stderr
from trainer.data.pairs.domains import prepare
from trainer.data.pairs.reading import domain_files
from trainer.data.pairs.writing import new_pair_files
from trainer.recipe import Recipe, load_recipe, parse_override
from trainer.reporting import Parser, reported
from trainer.run.folder import claim_data_folder
from trainer.run.parts import PART


def bundle(recipe: Recipe, out: Path, display: Display) -> list[Path]:
    """Write the pairs of a recipe into `out`; returns the files. Raises CdesearchError."""
    inputs = domain_files(recipe.data.pairs, recipe.data.leave_out)
    with new_pair_files(out, inputs, PART) as write:
        work = claim_data_folder(recipe.run)
        domains = prepare(inputs, work, recipe.data.keep_out, recipe.data.groups)
        advance = display.stage("Writing pairs", len(domains))
        files = []
        for domain in domains:
            drawn = domain.at_most(recipe.data.cap, recipe.run.seed)
            files.append(write(domain.name, drawn.take(range(len(drawn)))))
            advance(1)
    return files


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
    size = sum(file.stat().st_size for file in files) / 2**20
    print(f"{len(files)} files of {size:.1f} MiB are in {options.out}. To train on them, copy them and run:")
    overrides = f'data.pairs=["{options.out}"]', "data.leave_out=[]", "data.keep_out=[]", "data.groups={}"
    print(shlex.join(["python", "-m", "trainer", str(options.recipe), *(f"--set={key}" for key in overrides)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
