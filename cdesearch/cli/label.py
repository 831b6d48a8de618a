"""The command `label`: mark the hits of a question as good or bad."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cdesearch.cli.named_index import IndexOption
from cdesearch.errors import InputError, QueryError
from cdesearch.slim_imports import shorten_cold_start
from cdesearch.terminal import counted, print_text, printable

if TYPE_CHECKING:
    from cdesearch.search.result import SearchResult

KEYS = "g = good, b = bad, s = skip, q = quit; or the numbers of all good hits, such as 1,3"
_NUMBERS = re.compile(r"\s*[0-9]{1,6}(?:[\s,]+[0-9]{1,6})*\s*")


def label(
    question: Annotated[list[str], typer.Argument(help="The question.")],
    good: Annotated[str | None, typer.Option(metavar="NUMBERS", help="Numbers of good hits, such as 1,3.")] = None,
    bad: Annotated[str | None, typer.Option(metavar="NUMBERS", help="Numbers of bad hits, such as 2.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="Number of hits.")] = 10,
    index: IndexOption = None,
) -> None:
    """Mark the hits of a question as good or bad.

    The marks are test questions for `eval --labels` and `tune --labels`.

    Without --good and --bad, you are asked about each hit.
    """
    from cdesearch.store.index import Index
    from cdesearch.store.place import on_disk

    opened = Index.open(index)
    on_disk(opened.place, "label", "Index the same files on a disk as well, and label that index.")
    shorten_cold_start()
    from cdesearch.evaluation.labels import BAD, GOOD, mark
    from cdesearch.search.searcher import Searcher
    from cdesearch.store.layout import LABELS

    text = " ".join(question)
    with Searcher(opened) as searcher:
        result = searcher.search(text, k)
        root = searcher.index.root
    _show(text, root, result)
    if not result.hits:
        raise typer.Exit(1)
    if good is None and bad is None:
        grades = dict(_asked(len(result.hits)))
    else:
        grades = _chosen(good or "", bad or "", len(result.hits))
    if not grades:
        print_text("No hit was marked.")
        return
    marks = [(result.hits[number - 1].chunk, GOOD if is_good else BAD) for number, is_good in grades.items()]
    labels = mark(opened.folder, text, marks)
    n_good = sum(grades.values())
    print_text(
        f"Marked {counted(n_good, 'hit')} as good and {len(grades) - n_good} as bad."
        f" {printable(str(opened.folder / LABELS))} has {counted(labels.n_questions, 'question')} with good hits."
    )


def _show(question: str, root: Path, result: "SearchResult") -> None:
    from cdesearch.cli.hits.grouping import HitGroup
    from cdesearch.cli.hits.printing import show_hits
    from cdesearch.cli.hits.render import Shown

    show_hits(Shown(question, root), [HitGroup(hit) for hit in result.hits])


def _asked(n_hits: int) -> Iterator[tuple[int, bool]]:
    """Yield the number of each hit that the user marks, and whether it is good; lines are read from stdin."""
    typer.echo(KEYS)
    for number in range(1, n_hits + 1):
        while True:
            typer.echo(f"{number:>2} ", nl=False)
            key = _read_line()
            answer = key.strip().lower()
            if not key or answer == "q":
                return
            if _NUMBERS.fullmatch(answer):
                try:
                    chosen = _numbers(answer, n_hits)
                except QueryError as error:  # the marks before it are kept
                    typer.echo(str(error))
                    continue
                yield from ((one, True) for one in chosen)
                return
            if answer in ("g", "b"):
                yield number, answer == "g"
            if answer in ("g", "b", "s"):
                break
            typer.echo(KEYS)


def _read_line() -> str:
    """Read a line from stdin. Ctrl-C is the end of the input, so that the marks before it are kept."""
    try:
        return sys.stdin.readline()
    except KeyboardInterrupt:
        print_text("")
        return ""


def _chosen(good: str, bad: str, n_hits: int) -> dict[int, bool]:
    right, wrong = _numbers(good, n_hits), _numbers(bad, n_hits)
    if both := set(right) & set(wrong):
        raise InputError(f"Hit {min(both)} is given as good and as bad.", "Decide for one.")
    return dict.fromkeys(right, True) | dict.fromkeys(wrong, False)


def _numbers(text: str, n_hits: int) -> Sequence[int]:
    """Return the numbers in a text such as "1,3"; raises InputError."""
    if text and not _NUMBERS.fullmatch(text):
        raise InputError(f"{text[:40]!r} is not a list of numbers.", "Write the numbers of hits, such as 1,3.")
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if unknown := [number for number in numbers if not 1 <= number <= n_hits]:
        raise QueryError(f"There is no hit {unknown[0]}.", f"The search has {counted(n_hits, 'hit')}.")
    return numbers
