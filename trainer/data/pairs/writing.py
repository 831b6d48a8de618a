"""Writing pair files, one for each domain: all of them or none."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cdesearch.errors import InputError
from trainer.data.pairs.reading import Pair, domain_name
from trainer.replacing import UNFINISHED, open_new, refuse_link, writing

ANOTHER = "Name a new or empty folder."

Write = Callable[[str, Iterable[Pair]], Path]


@contextmanager
def new_pair_files(out: Path, inputs: Sequence[Path]) -> Iterator[Write]:
    """Within this context manager, the yielded function writes the pairs of a domain; at the end, `out` has the files.

    After an exception, Ctrl-C included, `out` has none of them. Unfinished files of a command that was killed are
    overwritten. `inputs` are the pair files that the pairs come from. Raises StorageError if `out` cannot be written,
    and InputError if it is the folder of the inputs or has a file that would be overwritten.
    """
    check_target(out, inputs)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    written: list[str] = []

    def write(domain: str, pairs: Iterable[Pair]) -> Path:
        written.append(domain)
        complete, unfinished = _targets(out, domain)
        with (
            writing(complete),
            open_new(unfinished) as stream,
            gzip.open(stream, "wt", encoding="utf-8") as lines,
        ):
            for pair in pairs:
                lines.write(json.dumps(_row(pair), ensure_ascii=False) + "\n")
        return complete

    finished: list[Path] = []
    try:
        yield write
        for domain in written:
            complete, unfinished = _targets(out, domain)
            finished.append(complete)
            unfinished.replace(complete)
    except BaseException:
        for file in (*finished, *(_targets(out, domain)[1] for domain in written)):
            with suppress(OSError):  # a folder, perhaps: the first error is the one to report
                file.unlink(missing_ok=True)
        raise


def check_target(out: Path, inputs: Sequence[Path]) -> None:
    """Raise InputError if `out` cannot be the folder of pairs that come from the files `inputs`."""
    if not out.exists():
        refuse_link(out)
    elif not out.is_dir():
        raise InputError(f"{out} is not a folder.", ANOTHER)
    for file in inputs:
        if out.exists() and out.samefile(file.parent):
            raise InputError(f"{out} is the folder of {file.name}, which is an input.", ANOTHER)
        target = _targets(out, domain_name(file))[0]
        if target.exists() or target.is_symlink():
            raise InputError(f"{target} exists and would be overwritten.", ANOTHER)


def _targets(out: Path, domain: str) -> tuple[Path, Path]:
    """The file of a domain, and the name that it has until it is complete."""
    return out / f"{domain}.jsonl.gz", out / f"{domain}.jsonl.gz{UNFINISHED}"


def _row(pair: Pair) -> dict[str, Any]:
    row = {"query": pair.query, "document": pair.document, "document_id": pair.document_id}
    place = {"place": pair.place} if pair.place else {}
    group = {"group": pair.group} if pair.group else {}
    scores = {"scores": pair.scores} if pair.scores else {}
    return row | place | group | {"negatives": pair.negatives} | scores
