"""Read the texts and queries of folders in the format of BEIR: corpus.jsonl and queries.jsonl."""

from pathlib import Path

import msgspec
from msgspec import Struct, field

from cdesearch.errors import SourceError


class _Text(Struct):
    """A line of corpus.jsonl or queries.jsonl."""

    name: str | int = field(name="_id")
    text: str
    title: str | None = None


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
