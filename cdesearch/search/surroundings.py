"""The text of a document around one of its chunks, and the white space between neighbouring chunks."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cdesearch.store.line_places import Entries
from cdesearch.store.schema import Chunk


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The text directly before and after a chunk, with the white space that separates them from the chunk."""

    before: str = ""
    after: str = ""
    numbers: Entries[int] = ()  # the numbers of lines in the file; lines are counted from the first one of the chunk


NOTHING = Surroundings()


def surroundings_of(chunks: Sequence[Chunk], chunk_id: str, count: int) -> Surroundings:
    """Return the texts of at most `count` chunks before and after the chunk, within its document or record.

    `chunks` are consecutive chunks of a document. The result is empty if the chunk is not among them.
    """
    position = next((number for number, chunk in enumerate(chunks) if chunk.id == chunk_id), None)
    if position is None:
        return NOTHING
    record = chunks[position].record
    first = last = position
    while first > max(0, position - count) and chunks[first - 1].record == record:
        first -= 1
    while last < min(len(chunks) - 1, position + count) and chunks[last + 1].record == record:
        last += 1
    before = "".join(chunks[n].body.rstrip() + gap_between(chunks[n], chunks[n + 1]) for n in range(first, position))
    after = "".join(gap_between(chunks[n], chunks[n + 1]) + chunks[n + 1].body.rstrip() for n in range(position, last))
    return Surroundings(before, after, _numbers(chunks[first : last + 1], position - first))


def _numbers(chunks: Sequence[Chunk], position: int) -> Entries[int]:
    """Return where the numbers of the lines of consecutive chunks change, relative to the chunk at `position`."""
    entries: list[tuple[int, int]] = []
    starts = [0]
    for chunk, following in pairwise(chunks):
        starts.append(starts[-1] + (chunk.body.rstrip() + gap_between(chunk, following)).count("\n"))
    for chunk, start in zip(chunks, starts, strict=True):
        if chunk.line_start is not None:
            line = start - starts[position]
            entries += [(line, chunk.line_start), *chunk.places.shifted(line).numbers]
    return tuple(entries)


def gap_between(chunk: Chunk, following: Chunk) -> str:
    """Return the white space between two chunks, which their bodies do not contain."""
    n_lines = lines_between(chunk, following)
    return "\n" if n_lines is None else "\n" * n_lines or " "


def lines_between(chunk: Chunk, following: Chunk) -> int | None:
    """Return how many lines the second chunk starts below the end of the first; None for formats without lines."""
    if chunk.line_end is None or following.line_start is None:
        return None
    return following.line_start - chunk.line_end
