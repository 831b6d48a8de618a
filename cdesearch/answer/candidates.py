"""The sentences of passages that an answer may quote."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cdesearch.search.passages import OMISSION, Passage
from cdesearch.search.sentences import Kind, Sentence, split_sentences

MIN_WORDS = 3  # a shorter sentence says nothing on its own
MAX_CHARACTERS = 400  # a longer sentence or paragraph of code is cut

_MARKER = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+")
_END = re.compile(r"[.!?:;\u2026\u3002\uff01][\"')\]*_`\u201d\u2019]*$")
_FENCE = re.compile(r"(?:```|~~~).*\n?")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, a row of a table or a paragraph of code."""

    text: str
    kind: Kind
    passage: int  # position of its passage, from 0
    line: int | None  # in the file, from 1; None if the format has no lines
    position: int  # in its passage, from 0


def candidates_of(passages: Sequence[Passage]) -> list[Candidate]:
    """The sentences of all passages in order, without headings, questions and very short sentences."""
    found = []
    for number, passage in enumerate(passages):
        sentences = split_sentences(passage.text)
        for position, sentence in enumerate(sentences):
            text = _shown(passage.text[sentence.start : sentence.end].removesuffix(OMISSION), sentence)
            if sentence.kind == "heading" or text.endswith("?") or len(re.findall(r"\w+", text)) < MIN_WORDS:
                continue
            if sentence.kind == "prose" and position == len(sentences) - 1 > 0 and not _END.search(text):
                continue  # a chunk can end within a sentence
            line = passage.line_start
            if line is not None:
                line += passage.text.count("\n", 0, sentence.start)
            found.append(Candidate(text, sentence.kind, number, line, position))
    return found


def _shown(text: str, sentence: Sentence) -> str:
    """The text of a sentence in one line, or of code without its fence; long text is cut."""
    if sentence.kind == "code":
        text = _FENCE.sub("", text).rstrip()
        end = text.rfind("\n", 0, MAX_CHARACTERS)
    else:
        text = " ".join(_MARKER.sub("", text, count=1).split()) if _MARKER.match(text) else " ".join(text.split())
        end = text.rfind(" ", 0, MAX_CHARACTERS)
    if len(text) <= MAX_CHARACTERS:
        return text
    return text[: end if end > 0 else MAX_CHARACTERS] + OMISSION
