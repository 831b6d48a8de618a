"""The command `tune`: choose the weight of text of one index, if test questions show that another one is better."""

from typing import TYPE_CHECKING, Annotated

import typer

from cdesearch.cli.asked_questions import N_AUTO, AutoOption, LabelsOption, QuestionsOption, chosen_questions
from cdesearch.cli.model_option import ModelOption
from cdesearch.cli.named_index import IndexOption
from cdesearch.errors import InputError
from cdesearch.slim_imports import shorten_cold_start
from cdesearch.terminal import print_rows, print_text, printable

if TYPE_CHECKING:
    from cdesearch.evaluation.tuning import Tuning


def tune(
    auto: AutoOption = None,
    questions: QuestionsOption = None,
    labels: LabelsOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be changed.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Return to the default weight of text.")] = False,
    index: IndexOption = None,
    model: ModelOption = None,
) -> None:
    """Choose how much words count in this index.

    The weight of words beside vectors is changed only if test questions prove a gain.
    """
    from cdesearch.store.index import Index
    from cdesearch.store.place import on_disk
    from cdesearch.store.text_weight import write_text_weight

    opened = Index.open(index)
    on_disk(opened.place, "tune", "Index the same files on a disk as well, and tune that index.")
    if reset:
        if auto is not None or questions is not None or labels:
            raise InputError("--reset uses no questions.", "Leave out the other options.")
        if not dry_run:
            write_text_weight(opened.folder, None)
        print_text("The weight of text is the default.")
        return
    shorten_cold_start()
    from cdesearch.evaluation.ranking import asking
    from cdesearch.evaluation.tuning import MIN_QUESTIONS, choose_weight
    from cdesearch.progress import shown_on_stderr

    chosen = chosen_questions(opened, auto, questions, labels)
    if len(chosen.questions) < MIN_QUESTIONS:
        raise _too_few(len(chosen.questions), MIN_QUESTIONS, auto, is_made=questions is None and not labels)
    with asking(opened, model) as asked_index, shown_on_stderr() as progress:
        asked = asked_index.ask(chosen.questions, progress.stage("Questions", len(chosen.questions)))
        found = choose_weight(asked, asked_index.reader.text_weight)
    if found.is_significant and not dry_run:
        write_text_weight(opened.folder, found.best)
    print_text(printable(chosen.about))
    print_rows(_table(found))
    print_text(_verdict(found, dry_run=dry_run))


def _too_few(n: int, needed: int, auto: int | None, *, is_made: bool) -> InputError:
    """Return the error that names how many questions there are, and what can provide more."""
    cause = f"To choose a weight, {needed} questions are needed"
    if not is_made:
        return InputError(f"{cause}, not {n}.", f"Add questions, or let --auto {N_AUTO} make them from the index.")
    if n == auto:
        return InputError(f"{cause}, not {n}.", f"Use --auto {N_AUTO}.")
    return InputError(
        f"{cause}, but only {n} can be made from the texts of this index.",
        "Index more text, or name real questions with --questions FILE or --labels. The weight of text stays as it is.",
    )


def _table(found: "Tuning") -> list[list[str]]:
    from cdesearch.evaluation.tuning import MEASURE

    marks = {found.current: "in use", found.best: "in use, preferred" if found.best == found.current else "preferred"}
    rows = [
        [f"{weight:g}", f"{mean:.1f}", marks.get(weight, "")]
        for weight, mean in zip(found.weights, found.means, strict=True)
    ]
    return [["weight of text", MEASURE, ""], *rows]


def _verdict(found: "Tuning", *, dry_run: bool) -> str:
    if found.best == found.current:
        return f"Nothing was changed: no weight is clearly better than the one in use, {found.current:g}."
    gain = f"{found.gain.value:+.1f} ({found.gain.low:+.1f} to {found.gain.high:+.1f}) on questions held out"
    if not found.is_significant:
        return f"Nothing was changed: the gain of another weight than {found.current:g} is {gain}, which may be chance."
    done = "would be changed" if dry_run else "was changed"
    return (
        f"The weight of text {done} from {found.current:g} to {found.best:g}: the gain is {gain}."
        " `cdesearch tune --reset` returns to the default."
    )
