"""Fold hits that repeat the text of a better hit of another file, such as a copy, a backup or another format."""

from collections.abc import Iterable
from dataclasses import replace

from cdesearch.store.schema import Hit
from cdesearch.words.word_forms import shingles_of

SAME = 0.9  # two texts are the same if they share at least this part of all their shingles

Shingles = frozenset[tuple[str, ...]]


def fold_copies(hits: Iterable[Hit], k: int) -> tuple[Hit, ...]:
    """The `k` best hits with ranks from 1; a hit whose text a better one of another file has is one of its `copies`.

    Records of one file are never copies, because each is an entry of its own. No more hits are read than needed.
    """
    kept: list[Hit] = []
    texts: list[Shingles] = []
    for hit in hits:
        shingles = shingles_of(hit.chunk.body)
        originals = (n for n, known in enumerate(texts) if _are_same(shingles, known) and _file(kept[n]) != _file(hit))
        original = next(originals, None)
        if original is not None:
            better = kept[original]
            kept[original] = replace(better, copies=(*better.copies, hit, *hit.copies))
            continue
        kept.append(replace(hit, rank=len(kept) + 1))
        texts.append(shingles)
        if len(kept) == k:
            break
    return tuple(kept)


def _file(hit: Hit) -> tuple[str | None, str]:
    return hit.index, hit.chunk.path


def _are_same(one: Shingles, other: Shingles) -> bool:
    if min(len(one), len(other)) < SAME * max(len(one), len(other)):
        return False
    return len(one & other) >= SAME * len(one | other)
