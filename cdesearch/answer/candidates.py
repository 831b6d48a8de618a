"""The sentences of passages that an answer may quote."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cdesearch.search.passages import OMISSION, Passage
from cdesearch.search.sentences import Kind, Sentence, split_sentences

MIN_WORDS = 3  # a shorter sentence cannot be understood alone
MAX_CHARACTERS = 400  # a longer sentence or paragraph of code is truncated

_MARKER = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+")
_END = re.compile(r"[.!?:;\u2026\u3002\uff01][\"')\]*_`\u201d\u2019]*$")
_FENCE = re.compile(r"(?:```|~~~).*\n?")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit that an answer may quote: a sentence, a row of a table, or a paragraph of code."""

    text: str
    kind: Kind
    passage: int  # the position of its passage, counted from 0
    line: int | None  # its line in the file, counted from 1; None if the format has no lines
    location: str  # in the form `path:line`, `path#page=n` or `path#anchor`, or the path alone
    trail: tuple[str, ...]  # the headings above it, outermost first
    position: int  # its position in the passage, counted from 0


def candidates_of(passages: Sequence[Passage]) -> list[Candidate]:
    """Return the sentences of all passages in order, except headings, questions, leads and short ones."""
    found = []
    for number, passage in enumerate(passages):
        sentences = split_sentences(passage.text)
        for position, sentence in enumerate(sentences):
            text = _shown(passage.text[sentence.start : sentence.end].removesuffix(OMISSION), sentence)
            if sentence.kind == "heading" or text.endswith(("?", ":")) or len(re.findall(r"\w+", text)) < MIN_WORDS:
                continue
            if sentence.kind == "prose" and position == len(sentences) - 1 > 0 and not _END.search(text):
                continue  # the sentence may be incomplete, because a chunk can end within a sentence
            row = passage.text.count("\n", 0, sentence.start)
            place = passage.line_at(row), passage.location_at(row), passage.trail_at(row)
            found.append(Candidate(text, sentence.kind, number, *place, position))
    return found


def _shown(text: str, sentence: Sentence) -> str:
    """Return a sentence in one line without its list marker, or code without its fence; long text is truncated."""
    if sentence.kind == "code":
        text = _FENCE.sub("", text).rstrip()
        end = text.rfind("\n", 0, MAX_CHARACTERS)
    else:
        text = " ".join(_MARKER.sub("", text, count=1).split()) if _MARKER.match(text) else " ".join(text.split())
        end = text.rfind(" ", 0, MAX_CHARACTERS)
    if len(text) <= MAX_CHARACTERS:
        return text
    return text[: end if end > 0 else MAX_CHARACTERS] + OMISSION
