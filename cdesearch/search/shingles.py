"""Compare texts by their shingles, which are runs of consecutive words."""

import re

SHINGLE = 5  # the number of words of a shingle


def shingles_of(text: str) -> frozenset[tuple[str, ...]]:
    """Return the shingles of a text, in lower case. A text of fewer words is a single shingle."""
    words = re.findall(r"\w+", text.lower()) or [text]
    return frozenset(tuple(words[start : start + SHINGLE]) for start in range(max(1, len(words) - SHINGLE + 1)))
