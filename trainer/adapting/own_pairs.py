"""Pairs of an index to train on: headings with the bodies below them, and sentences with the passages around them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cdesearch.evaluation.own_questions import without
from cdesearch.evaluation.questions import plain
from cdesearch.search.sentences import split_sentences
from cdesearch.store.schema import Chunk
from trainer.data.pairs.reading import Pair
from trainer.data.random_stream import random_stream
from trainer.replacing import replace_text

LEAST_WORDS = 20  # of a body below a heading
SENTENCE_WORDS = range(5, 31)
LEAST_REST = 10  # words of a passage without its sentence

_WORD = re.compile(r"[^\W_]+")


def own_pairs(chunks: Sequence[Chunk], seed: int) -> list[Pair]:
    """The pairs of headings, then those of sentences.

    Both pairs of a chunk have the same document, so that none is a negative of the other.
    """
    sentences = sentence_pairs(chunks, seed)
    return [*heading_pairs(chunks, {name: pair.document for name, pair in sentences.items()}), *sentences.values()]


def heading_pairs(chunks: Sequence[Chunk], bodies: Mapping[str, str]) -> list[Pair]:
    """A pair for each heading: the title and the last heading above a chunk, and the body of the chunk.

    Of the chunks below one heading only the first counts. The body has no title and no headings; that in `bodies`, by
    the id of its chunk, comes first.
    """
    pairs: dict[str, Pair] = {}
    for chunk in chunks:
        parts = dict.fromkeys(part.strip() for part in (chunk.title, *chunk.trail[-1:]) if part.strip())
        query, body = ": ".join(parts), chunk.body.strip()
        if query and _n_words(body) >= LEAST_WORDS:
            pairs.setdefault(query, Pair(query, bodies.get(chunk.id, body), document_id=chunk.document_id))
    return list(pairs.values())


def sentence_pairs(chunks: Sequence[Chunk], seed: int) -> dict[str, Pair]:
    """A pair for each chunk with prose, by its id: a random sentence, and the body without it (inverse cloze task)."""
    random = random_stream(seed, "sentences to learn from")
    pairs: dict[str, Pair] = {}
    for chunk in chunks:
        body = chunk.body
        prose = [body[one.start : one.end] for one in split_sentences(body) if one.kind == "prose"]
        sentences = [one for one in prose if _n_words(one) in SENTENCE_WORDS]
        if sentences:
            sentence = sentences[int(random.integers(len(sentences)))]
            rest = without(body, sentence).strip()
            if _n_words(rest) >= LEAST_REST:
                pairs[chunk.id] = Pair(plain(sentence), rest, document_id=chunk.document_id)
    return pairs


def write_pairs(pairs: Sequence[Pair], file: Path) -> None:
    """Write a pair file; raises StorageError."""
    rows = [{"query": one.query, "document": one.document, "document_id": one.document_id} for one in pairs]
    replace_text(file, "".join(f"{json.dumps(row)}\n" for row in rows))


def _n_words(text: str) -> int:
    return len(_WORD.findall(text))
