"""Make test questions from the texts of an index: its headings, links, documentation of code, captions and sentences.

A passage contains the heading from which a question is made, so a search for it would be too easy. Such words are taken
out of the passage before it is scored (`held_out`). Only the words of a link are in another document than the answer.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from posixpath import dirname, normpath
from random import Random
from urllib.parse import unquote, urlsplit

from cdesearch.errors import InputError
from cdesearch.evaluation.questions import Question, plain
from cdesearch.search.documents import read_table
from cdesearch.search.exact import exact_terms
from cdesearch.search.sentences import split_sentences
from cdesearch.store.index import Index
from cdesearch.store.schema import CHUNK_COLUMNS, Chunk, chunk_from_row

MAX_READ = 20_000  # chunks; of a larger index, a sample of the documents is read
MIN_WORDS, MAX_WORDS = 3, 16  # of a question that is a heading
SENTENCE_WORDS = range(8, 26)
MIN_REST = 20  # words of a passage without the words of its question
MAX_ANSWERS = 3  # chunks of a section; a longer section is not a definite answer

_WORD = re.compile(r"[^\W_]+")
_CODE_LINE = re.compile(r"(?:\"\"\"|'''|/\*\*)[ \t]*(?:\n[ \t]*\*?[ \t]*)?([A-Z][^\n\"']{14,120})")
_CAPTION = re.compile(r"^[ \t]*(?:figure|fig\.|table|listing)[ \t]+[\d.]+[:.]?[ \t]+(\S[^\n]{14,160})", re.I | re.M)
_ASKED = re.compile(
    r"^[ \t]*(?:Q(?:uestion)?[ \t]*\d*[.:)]|\*+[ \t]|#+[ \t])?[ \t]*([A-Z][^\n?]{14,150}\?)[*_ \t]*$", re.M
)
_LINK = re.compile(r"(?<!!)\[([^\]\n]{8,100})\]\(([^()\s]+)\)")


@dataclass(frozen=True, slots=True)
class _Made:
    """A question with the document that answers it."""

    question: Question
    document: str


def make_questions(index: Index, n: int, seed: int = 0) -> list[Question]:
    """At most `n` questions, the same in every call. Each kind has the same share as far as there are enough.

    Sentences only make up for what is missing of the other kinds. Raises InputError if no question can be made.
    """
    random = Random(seed)
    chunks = sample_chunks(index, random)
    if not chunks:
        raise InputError("The index contains no text.", "Index some files.")
    kinds = [_spread(made, random) for made in _by_kind(chunks).values()]
    turns = [one for turn in zip_longest(*kinds) for one in turn if one is not None]
    made = _unlike(turns, n)
    if len(made) < n:
        made += _unlike(_spread(list(_sentences(chunks)), random), n - len(made))
    if not made:
        raise InputError("No question can be made from the texts of the index.", "Write some, and use --questions.")
    return [one.question for one in made]


def sample_chunks(index: Index, random: Random) -> list[Chunk]:
    """All chunks of documents that are drawn at random, until there are MAX_READ."""
    table = read_table(index, index.async_chunks.query().select(["document_id"]).with_row_id())
    rows: dict[str, list[int]] = defaultdict(list)
    for document, row in zip(table["document_id"].to_pylist(), table["_rowid"].to_pylist(), strict=True):
        rows[document].append(row)
    documents = sorted(rows)
    random.shuffle(documents)
    kept: list[int] = []
    for document in documents:
        kept += rows[document]
        if len(kept) >= MAX_READ:
            break
    return read_chunks(index, kept)


def read_chunks(index: Index, rows: Sequence[int]) -> list[Chunk]:
    """The chunks with these row ids, in their order."""
    query = index.async_chunks.take_row_ids(list(rows)).select(CHUNK_COLUMNS).with_row_id()
    stored = read_table(index, query).to_pylist()
    found = {row["_rowid"]: chunk_from_row(row) for row in stored}
    return [found[row] for row in rows]


def _by_kind(chunks: Sequence[Chunk]) -> dict[str, list[_Made]]:
    return {
        "headings": list(_headings(chunks)),
        "links": list(_links(chunks)),
        "documentation of code": list(_lines(chunks, "documentation of code", _CODE_LINE)),
        "captions": list(_lines(chunks, "captions", _CAPTION)),
        "questions in the text": list(_lines(chunks, "questions in the text", _ASKED)),
    }


def _spread(made: list[_Made], random: Random) -> list[_Made]:
    """Questions in random order, first one of each document, then the second ones, and so on."""
    random.shuffle(made)
    turn: dict[str, int] = defaultdict(int)
    keyed: list[tuple[int, int, _Made]] = []
    for one in made:
        keyed.append((turn[one.document], len(keyed), one))
        turn[one.document] += 1
    return [one for *_, one in sorted(keyed, key=lambda key: key[:2])]


def _unlike(made: Iterable[_Made], n: int) -> list[_Made]:
    """The first `n` questions with different texts."""
    different: dict[str, _Made] = {}
    for one in made:
        different.setdefault(one.question.text.lower(), one)
    return list(different.values())[:n]


def _headings(chunks: Sequence[Chunk]) -> Iterator[_Made]:
    """Yield titles and headings that occur once, with the chunks of their sections."""
    below: dict[str, list[Chunk]] = defaultdict(list)
    places: dict[str, set[tuple[str, tuple[str, ...]]]] = defaultdict(set)
    for chunk in chunks:
        seen = set()
        for trail in [chunk.trail, *(trail for _, trail in chunk.places.trails)]:
            for depth, heading in enumerate([chunk.title, *trail]):
                seen.add(heading)
                places[heading.lower()].add((chunk.document_id, trail[:depth]))
        for heading in seen:
            below[heading].append(chunk)
    for heading, section in below.items():
        if len(places[heading.lower()]) == 1 and len(section) <= MAX_ANSWERS and _is_question(heading):
            yield from _made(heading, "headings", section, heading)


def _lines(chunks: Sequence[Chunk], kind: str, pattern: re.Pattern[str]) -> Iterator[_Made]:
    """Yield the lines of passages that a pattern finds."""
    for chunk in chunks:
        for match in pattern.finditer(chunk.body):
            text = plain(match[1]).rstrip(". */")
            if _is_question(text):
                yield from _made(text, kind, [chunk], match[1])


def _links(chunks: Sequence[Chunk]) -> Iterator[_Made]:
    """Yield the words of links between files, with all chunks of the other file."""
    files: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        files[chunk.path].append(chunk)
    for chunk in chunks:
        for match in _LINK.finditer(chunk.body):
            address = urlsplit(match[2])
            target = normpath(f"{dirname(chunk.path)}/{unquote(address.path)}").lstrip("/")
            is_other = not address.scheme and not address.netloc and target != chunk.path
            text = plain(match[1].replace("`", ""))
            if is_other and target in files and _is_question(text):
                answers = frozenset(one.id for one in files[target])
                yield _Made(Question(text, "links", answers), target)


def _sentences(chunks: Sequence[Chunk]) -> Iterator[_Made]:
    """Yield one sentence in the middle of each passage."""
    for chunk in chunks:
        body = chunk.body
        prose = [body[one.start : one.end] for one in split_sentences(body) if one.kind == "prose"]
        long = [one for one in prose[1:] if len(_WORD.findall(one)) in SENTENCE_WORDS and not exact_terms(one)]
        if long:
            sentence = long[len(long) // 2]
            yield from _made(plain(sentence), "sentences", [chunk], sentence)


def _made(text: str, kind: str, answers: Sequence[Chunk], removed: str) -> Iterator[_Made]:
    """Yield a question unless nothing is left of its answers."""
    if all(len(_WORD.findall(without(chunk.text, removed))) >= MIN_REST for chunk in answers):
        yield _Made(Question(text, kind, frozenset(chunk.id for chunk in answers), removed), answers[0].document_id)


def without(text: str, removed: str) -> str:
    """A text without a part, wherever it occurs."""
    return text.replace(removed, " ")


def _is_question(text: str) -> bool:
    """Whether a heading says enough to be searched for. Names of code are found by other means than fusion."""
    words = _WORD.findall(text)
    is_long = MIN_WORDS <= len(words) <= MAX_WORDS or (text.endswith("?") and len(words) <= MAX_WORDS)
    return is_long and sum(map(str.isalpha, words)) >= MIN_WORDS - 1 and not exact_terms(text)
