"""Mine hard negatives: documents that a model ranks high for a query, although another document answers it.

    python -m trainer.mine RECIPE OUT [--negatives N] [--eps E] [--set section.key=value]...

The command writes one .jsonl.gz file for each domain into OUT, which a recipe can name as `data.pairs`, together with
`batches.hard_negatives`. Pairs that `data.cap`, `data.groups` or `data.keep_out` leaves out are not written. The model
is `run.surrogate`, or else the start. The negatives of a query are documents of its own domain.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from trainer.torch_needed import exit_without_torch

if __name__ == "__main__":
    exit_without_torch(__doc__)  # before the imports below, which need torch

import numpy as np
import torch

from cdesearch.cli.exits import exit_when_stopped
from cdesearch.context.vectors import Floats
from cdesearch.errors import InputError
from cdesearch.progress import Display, shown_on_stderr
from trainer.data.batches.false_negatives import false_negatives
from trainer.data.pairs.domains import Domain, prepare
from trainer.data.pairs.reading import Pair, domain_files
from trainer.data.pairs.writing import new_pair_files
from trainer.data.surrogate.model import open_surrogate
from trainer.data.surrogate.scores import surrogate_vectors
from trainer.recipe import Recipe, load_recipe, parse_override
from trainer.reporting import Parser, reported
from trainer.run.folder import claimed_data_folder

ROWS = 256  # queries whose scores with all documents of the domain are in memory at once


def mine(recipe: Recipe, out: Path, n_negatives: int, eps: float, display: Display) -> list[Path]:
    """Write the pairs of a recipe with mined negatives; returns the files. Raises CdesearchError."""
    files = domain_files(recipe.data.pairs, recipe.data.leave_out)
    with new_pair_files(out, files) as write, claimed_data_folder(recipe.run) as work:
        encoder = open_surrogate(recipe.run.surrogate or recipe.model.start, torch.device("cpu"))
        encoder = encoder.truncated_to(recipe.batches.max_tokens)
        whole = prepare(files, work, recipe.data.keep_out, recipe.data.groups)
        domains = [domain.at_most(recipe.data.cap, recipe.run.seed) for domain in whole]
        advance = display.stage("Surrogate vectors", 2 * sum(map(len, domains)))
        written = []
        for domain in domains:  # if the command is stopped, the next one continues with the stored vectors
            cache = work / "surrogate"
            queries = surrogate_vectors(domain.name, domain.column("query"), "query", encoder, cache, advance)
            documents = surrogate_vectors(domain.name, domain.column("document"), "document", encoder, cache, advance)
            negatives = nearest(domain, queries, documents, n_negatives, eps)
            written.append(write(domain.name, _with_negatives(domain, negatives)))
    return written


def _with_negatives(domain: Domain, rows_of_negatives: Iterable[list[int]]) -> Iterator[Pair]:
    """The pairs of a domain with new negatives, which are documents of the domain."""
    for pair, rows in zip(domain.take(range(len(domain))), rows_of_negatives, strict=True):
        yield replace(pair, negatives=tuple(negative.document for negative in domain.take(rows)))


def nearest(domain: Domain, queries: Floats, documents: Floats, n: int, eps: float) -> Iterator[list[int]]:
    """For each pair the rows of at most `n` distinct documents, the nearest first, that are not false negatives.

    `queries` and `documents` are (N, d). `eps` is the margin of the filter, relative to the score of the own document.
    """
    texts, query_texts = domain.column("document"), domain.column("query")
    for first in range(0, len(queries), ROWS):
        scores = queries[first : first + ROWS] @ documents.T
        excluded = false_negatives(scores, query_texts, texts, eps, first)
        for row, order in enumerate(np.argsort(-scores, axis=1, kind="stable")):
            seen = {texts[first + row]}
            chosen: list[int] = []
            for candidate in order.tolist():
                if len(chosen) == n:
                    break
                if not excluded[row, candidate] and texts[candidate] not in seen:
                    seen.add(texts[candidate])
                    chosen.append(candidate)
            yield chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Mine negatives; returns the exit code. Every error is one line on stderr."""
    return reported(lambda: _mine(arguments))


def _mine(arguments: Sequence[str] | None) -> int:
    parser = Parser(
        prog="python -m trainer.mine", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", type=Path, help="TOML file; see trainer/recipes")
    parser.add_argument("out", type=Path, help="folder for the pairs with negatives")
    parser.add_argument("--negatives", type=int, default=7, help="hard negatives of each pair, at most")
    parser.add_argument("--eps", type=float, default=0.1, help="margin of the filter of false negatives")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set section.key of the recipe")
    options = parser.parse_args(arguments)
    if options.negatives < 1:
        raise InputError(f"--negatives is {options.negatives}.", "Name a number above 0.")
    recipe = load_recipe(options.recipe, dict(map(parse_override, options.set)))
    with exit_when_stopped("The same command continues with the stored vectors."), shown_on_stderr() as display:
        written = mine(recipe, options.out, options.negatives, options.eps, display)
    print(f"{len(written)} files are in {options.out}. Next: set data.pairs to it, and batches.hard_negatives.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
