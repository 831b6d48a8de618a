"""Texts of an index to train on: the bodies of its documents, and pairs of a heading and the body below it."""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from cdesearch.store.schema import Chunk
from trainer.data.pairs.reading import Pair
from trainer.replacing import replace_text

LEAST_WORDS = 20  # of a body

_WORD = re.compile(r"[^\W_]+")


def own_pairs(chunks: Sequence[Chunk]) -> list[Pair]:
    """A pair for each heading: the title and the last heading above a chunk, and the body of the chunk.

    Of the chunks below one heading only the first counts. The body has no title and no headings.
    """
    pairs: dict[str, Pair] = {}
    for chunk in chunks:
        parts = dict.fromkeys(part.strip() for part in (chunk.title, *chunk.trail[-1:]) if part.strip())
        query, body = ": ".join(parts), chunk.body.strip()
        if query and len(_WORD.findall(body)) >= LEAST_WORDS:
            pairs.setdefault(query, Pair(query, body, document_id=chunk.document_id))
    return list(pairs.values())


def write_bodies(chunks: Sequence[Chunk], file: Path) -> None:
    """Write the bodies of the chunks of each document as its passages, one document a line; raises StorageError."""
    documents: dict[str, list[str]] = defaultdict(list)
    for chunk in chunks:
        if len(_WORD.findall(chunk.body)) >= LEAST_WORDS:
            documents[chunk.document_id].append(chunk.body)
    lines = [json.dumps({"chunks": passages}) for passages in documents.values()]
    replace_text(file, "".join(f"{line}\n" for line in lines))


def write_pairs(pairs: Sequence[Pair], file: Path) -> None:
    """Write a pair file; raises StorageError."""
    rows = [{"query": one.query, "document": one.document, "document_id": one.document_id} for one in pairs]
    replace_text(file, "".join(f"{json.dumps(row)}\n" for row in rows))
