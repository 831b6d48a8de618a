"""Keep the segments of a search index few and cheap to update. Each covers fragments of the table.

LanceDB indexes the vectors that an update adds as a new segment. Words it joins with the newest segment, which it
writes again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A search visits all segments: each costs about a millisecond of processor time. So an update joins segments of vectors
# with fewer than so many times the chunks that it adds. That leaves three or four on average.
JOIN_RATIO = 16
LARGEST_RATIO = 4  # of the largest segment: built again when a fifth of the chunks is in others
FRAGMENT_BITS = 32  # a row id is the number of the fragment, and in its lowest 32 bits the number of the row
NO_ROWS = np.empty(0, np.uint64)


def rows_to_move(table: Any, name: str) -> NDArray[np.uint64] | None:
    """The ids of the rows in the small segments of the index `name`, to be added to `table` again as one segment.

    LanceDB cannot join segments of vectors, but it forgets one if every chunk in it is deleted. None means that even
    the largest is too small: the index is to be built again.
    """
    known = table.index_stats(name)
    if known is None or not known.num_unindexed_rows:
        return NO_ROWS
    added = known.num_unindexed_rows
    if known.num_indices == 1:  # the ids of all rows, which take seconds to read in a large table, are not needed
        return None if segments_to_join([known.num_indexed_rows], added) else NO_ROWS
    rows = _row_ids(table)
    fragments = rows >> FRAGMENT_BITS
    numbers, sizes = np.unique(fragments, return_counts=True)
    n_new = 1 + int(np.searchsorted(np.cumsum(sizes[::-1]), added))  # fragments, the last ones
    n_indexed = len(numbers) - n_new
    # Each segment covers one fragment of the table, except the oldest one, which covers all those before.
    segments = np.maximum(np.arange(n_indexed) - max(0, n_indexed - known.num_indices), 0)
    of_segment = np.bincount(segments, sizes[:n_indexed]).astype(int)
    by_size = np.argsort(of_segment, kind="stable")
    n_joined = segments_to_join(of_segment[by_size].tolist(), added)
    if n_joined == len(of_segment):
        return None
    moved: NDArray[np.uint64] = np.sort(
        rows[np.isin(fragments, numbers[:n_indexed][np.isin(segments, by_size[:n_joined])])]
    )
    return moved


def segments_to_join(sizes: Sequence[int], added: int) -> int:
    """How many of the smallest segments, of ascending `sizes`, to join with chunks that are `added`.

    The segments that stay are each many times as large as all smaller ones together, so there are few of them.
    """
    below = [added + sum(sizes[:number]) for number in range(len(sizes))]
    ratios = [JOIN_RATIO if number < len(sizes) else LARGEST_RATIO for number in range(1, len(sizes) + 1)]
    small = [size < ratio * total for size, ratio, total in zip(sizes, ratios, below, strict=True)]
    return max((number for number, is_small in enumerate(small, start=1) if is_small), default=0)


def has_deleted_rows(table: Any) -> bool:
    """Whether a row of `table` before others in its fragment was deleted."""
    rows = np.sort(_row_ids(table))
    _, counts = np.unique(rows >> FRAGMENT_BITS, return_counts=True)
    last = rows[np.cumsum(counts) - 1] & ((1 << FRAGMENT_BITS) - 1)  # the number of the last row of each fragment
    return bool((last + 1 > counts).any())


def _row_ids(table: Any) -> NDArray[np.uint64]:
    ids: NDArray[np.uint64] = (
        table.search().select(["_rowid"]).limit(table.count_rows()).to_arrow()["_rowid"].to_numpy()
    )
    return ids
