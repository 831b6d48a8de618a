"""Read folders in the format of BEIR: corpus.jsonl, queries.jsonl and qrels/test.tsv, with checks of every line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct, field

from cdesearch.errors import SourceError

STRAY_SHARE = 0.01  # the share of judgements that may name unknown ids
COLUMNS = "query-id\tcorpus-id\tscore"

Judgements = Mapping[str, Mapping[str, int]]  # query to document to grade


@dataclass(frozen=True, slots=True)
class BeirFolder:
    """The contents of one folder. Queries without a relevant document are left out."""

    name: str
    ids: tuple[str, ...]  # of the texts, in the order of the file
    texts: tuple[str, ...]  # title, then text
    queries: Mapping[str, str]  # those with judgements, by id
    judgements: Judgements
    n_stray: int  # judgements that name unknown ids, which are left out


class _Text(Struct):
    """A line of corpus.jsonl or queries.jsonl."""

    name: str | int = field(name="_id")
    text: str
    title: str | None = None


def read_beir(folder: Path) -> BeirFolder:
    """Read and check a folder; raises a SourceError that names the file and the line."""
    corpus, queries = read_texts(folder / "corpus.jsonl"), read_queries(folder)
    judged, n_stray = _read_judgements(folder / "qrels" / "test.tsv", corpus, queries)
    kept = {name: queries[name] for name in judged}
    return BeirFolder(folder.name, tuple(corpus), tuple(corpus.values()), kept, judged, n_stray)


def read_texts(corpus: Path) -> dict[str, str]:
    """The texts of a corpus.jsonl by `_id`, in order, each after its title; raises SourceError."""
    return {name: "\n".join(filter(None, (row.title, row.text))) for name, row in _read_rows(corpus).items()}


def read_queries(folder: Path) -> dict[str, str]:
    """All queries of a folder by `_id`, in order; raises SourceError."""
    return {name: row.text for name, row in _read_rows(folder / "queries.jsonl").items()}


def _read_rows(file: Path) -> dict[str, _Text]:
    rows: dict[str, _Text] = {}
    decoder, number = msgspec.json.Decoder(_Text), 0
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    row = decoder.decode(line)
                    if rows.setdefault(str(row.name), row) is not row:
                        raise SourceError(f"{file}:{number} has the id {row.name} a second time.", "Keep one of them.")
    except FileNotFoundError:
        raise SourceError(
            f"{file.parent} is not a BEIR folder: it has no {file.name}.", "See https://github.com/beir-cellar/beir."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{file}:{number} cannot be read ({error}).", "Copy the file again.") from None
    return rows


def _read_judgements(
    file: Path, corpus: Mapping[str, str], queries: Mapping[str, str]
) -> tuple[dict[str, dict[str, int]], int]:
    """Relevant documents by query, and how many judgements name unknown ids."""
    try:
        with file.open("rb") as stream:
            header, *lines = stream.read().decode("utf-8").splitlines()
    except (OSError, ValueError):
        raise SourceError(f"{file} is missing or empty.", "A BEIR folder has qrels/test.tsv.") from None
    if header != COLUMNS:
        raise SourceError(f"{file} begins with {header[:60]!r}.", f"It must begin with {COLUMNS!r}.")
    judged: dict[str, dict[str, int]] = {}
    n_stray = 0
    for number, line in enumerate(lines, start=2):
        try:
            query, document, grade = line.split("\t")
            relevance = int(float(grade))
        except (ValueError, OverflowError):
            raise SourceError(
                f"{file}:{number} does not have three columns of which the last is a number.", "Correct the line."
            ) from None
        if query not in queries or document not in corpus:
            n_stray += 1
        elif relevance > 0:
            judged.setdefault(query, {})[document] = relevance
    if n_stray > STRAY_SHARE * len(lines):
        raise SourceError(
            f"{n_stray} of {len(lines)} judgements in {file} name unknown ids.",
            "Use a corpus, queries and judgements of the same data set.",
        )
    if not judged:
        raise SourceError(f"{file} has no judgement above 0.", "Use the judgements of this corpus.")
    return judged, n_stray
