"""The command `eval`: compare the rankings of an index on questions of the user."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cdesearch.cli.named_index import IndexOption, ModelOption
from cdesearch.errors import InputError
from cdesearch.slim_imports import shorten_cold_start
from cdesearch.terminal import counted, print_json, print_rows, print_text, printable

if TYPE_CHECKING:
    from cdesearch.evaluation.measures import Mean
    from cdesearch.evaluation.ranking import Asked

    Ranking = Callable[[Asked], int | None]

PLAIN = "plain vectors"
ALIKE = "Plain vectors are left out: they are the same, or cannot be computed from this index."
DIFFERENT = "Plain vectors are those of the same model without the context of this index and of its documents."
ENOUGH = 20  # questions for an interval by resampling


def evaluate(
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            help='A file with a question on each line: {"question": "...", "answers": [{"path": "...", "phrase":'
            ' "..."}]}. Any passage of the file with the phrase is right.',
        ),
    ] = None,
    index: IndexOption = None,
    model: ModelOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure how often the right passage is found for your questions.

    Words, vectors and both together are compared.
    """
    from cdesearch.store.index import Index

    if questions is None:
        from cdesearch.evaluation.questions import EXAMPLE

        raise InputError("No questions are named.", f"Write some into a file, and use --questions FILE: {EXAMPLE}")
    opened = Index.open(index)
    shorten_cold_start()
    from cdesearch.evaluation.questions import read_questions
    from cdesearch.evaluation.ranking import PlainVectors, asking, by_both, by_vectors, by_words
    from cdesearch.progress import shown_on_stderr

    chosen = read_questions(questions, opened)
    about = f"{counted(len(chosen), 'question')} from {questions}."
    with asking(opened, model) as asked_index, shown_on_stderr() as progress:
        asked = asked_index.ask(chosen, progress.stage("Questions", len(chosen)))
        plain = PlainVectors(asked_index)
        rankings: dict[str, Ranking] = {"words (BM25)": by_words, **({PLAIN: plain.rank} if plain.is_different else {})}
        rankings |= {"vectors in context": by_vectors, "both (hybrid)": by_both}
        advance = progress.stage("Rankings", len(rankings) * len(asked))
        means = {name: _means(ranking, asked, advance) for name, ranking in rankings.items()}
    few = f"The intervals of fewer than {ENOUGH} questions are too narrow: other questions may give other results."
    notes = [*([few] if len(asked) < ENOUGH else []), DIFFERENT if PLAIN in means else ALIKE]
    if as_json:
        rows = {name: {measure: asdict(mean) for measure, mean in row.items()} for name, row in means.items()}
        print_json({"questions": len(asked), "about": about, "rankings": rows, "notes": notes})
        return
    print_text(printable(about))
    intervals = {  # x 100
        name: [f"{one.value:.1f} ({one.low:.1f}-{one.high:.1f})" for one in row.values()] for name, row in means.items()
    }
    print_rows([["", *next(iter(means.values()))], *([name, *row] for name, row in intervals.items())])
    for note in notes:
        print_text(note)


def _means(ranking: "Ranking", asked: "Sequence[Asked]", advance: Callable[[int], None]) -> "dict[str, Mean]":
    from cdesearch.evaluation.measures import mean_of, measure_ranks

    ranks = []
    for one in asked:
        ranks.append(ranking(one))
        advance(1)
    return {name: mean_of(values) for name, values in measure_ranks(ranks).items()}
