"""The text around a chunk is that of its neighbours, with the lines between them."""

from cdesearch.search.documents import surroundings_of
from cdesearch.store.schema import Chunk


def chunk(number, first, last, text):
    return Chunk(str(number), "a", None, number, "a.txt", "", (), text, 0, first, last, None)


def test_as_many_chunks_as_asked_are_joined_on_each_side():
    chunks = [chunk(n, 3 * n + 1, 3 * n + 1, f"line {3 * n + 1}") for n in range(7)]
    for count in range(5):
        around = surroundings_of(chunks, "3", count)
        before = "".join(f"line {3 * n + 1}\n\n\n" for n in range(max(0, 3 - count), 3))
        after = "".join(f"\n\n\nline {3 * n + 1}" for n in range(4, min(6, 3 + count) + 1))
        assert (around.before, around.after) == (before, after)
