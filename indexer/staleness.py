"""Whether the context of an index still describes its corpus, and what to do if not."""

import shlex
from pathlib import Path

from cdesearch.context.sample import FITTED_TEXTS
from cdesearch.search.drift import level_of
from cdesearch.store.manifest import Manifest

# Growth from 150 to 1,500 chunks cost up to .010 of the dense nDCG@10 on samples of training domains, and .003 of the
# hybrid one. A tenth about another subject cost nothing more.
MOST_GROWTH = 5


def staleness(manifest: Manifest) -> str | None:
    """A sentence that says why the context no longer fits; None if it fits."""
    before = manifest.context_chunks
    if before is None:  # not recorded by older versions; all chunks of a small corpus were sampled
        before = manifest.context_size if manifest.context_size < manifest.context_limit else manifest.n_chunks
    if before < FITTED_TEXTS and manifest.n_chunks > MOST_GROWTH * before:
        return f"The context was sampled when the index had {before:,} chunks; it has {manifest.n_chunks:,} now."
    if level_of(manifest.drift) == "large":
        return "The documents are unlike those that the context was sampled from."
    return None


def advice(folder: Path, manifest: Manifest) -> str | None:
    """A line that advises a new context for the index in `folder` if the corpus has grown or changed too much."""
    reason = staleness(manifest)
    command = f"`cdesearch index --refresh-context --index {shlex.quote(str(folder))}`"
    return f"{reason} {command} samples a new one." if reason else None
