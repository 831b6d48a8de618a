"""Writing pair files, one for each domain: all of them or none."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cdesearch.errors import InputError
from trainer.data.pairs.reading import Pair, domain_name
from trainer.replacing import writing

WORK = ".cdesearch-mining"  # the folder in the output of what is computed so far, which is removed at the end
ANOTHER = "Name a new or empty folder."

Write = Callable[[str, Iterable[Pair]], None]


@contextmanager
def new_pair_files(out: Path, inputs: Sequence[Path]) -> Iterator[tuple[Write, Path]]:
    """Within this context manager, a function writes the pairs of a domain; at the end, `out` has all files.

    It also yields a folder for intermediate results, which is kept for the next call if the block fails. `inputs` are
    the pair files that the pairs come from. Raises StorageError if `out` cannot be written, and InputError if it is the
    folder of the inputs or has a file that would be overwritten.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is not a folder.", ANOTHER)
    for file in inputs:
        if out.exists() and out.samefile(file.parent):
            raise InputError(f"{out} is the folder of {file.name}, which is an input.", ANOTHER)
        if (target := out / f"{domain_name(file)}.jsonl.gz").exists():
            raise InputError(f"{target} exists and would be overwritten.", ANOTHER)
    work, written = out / WORK, []

    def write(domain: str, pairs: Iterable[Pair]) -> None:
        file = work / f"{domain}.jsonl.gz"
        with writing(file), gzip.open(file, "wt", encoding="utf-8") as lines:
            for pair in pairs:
                lines.write(json.dumps(_row(pair), ensure_ascii=False) + "\n")
        written.append(file)

    with writing(out):
        work.mkdir(parents=True, exist_ok=True)
    yield write, work
    with writing(out):
        for file in written:
            file.replace(out / file.name)
        shutil.rmtree(work)


def _row(pair: Pair) -> dict[str, Any]:
    row = {"query": pair.query, "document": pair.document, "document_id": pair.document_id}
    place = {"place": pair.place} if pair.place else {}
    group = {"group": pair.group} if pair.group else {}
    scores = {"scores": pair.scores} if pair.scores else {}
    return row | place | group | {"negatives": pair.negatives} | scores
