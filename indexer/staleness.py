"""Whether the context of an index still describes its corpus, and what to do if not."""

import shlex

from cdesearch.search.drift import measure_drift
from cdesearch.store.index import Index

# Growth from 150 to 1,500 chunks cost up to .010 of the dense nDCG@10 on samples of training domains, and .003 of the
# hybrid one. A tenth about another subject cost nothing more.
MOST_GROWTH = 5


def advice(index: Index) -> str | None:
    """A line that advises a new context if the corpus has grown or changed too much; raises IndexDamagedError."""
    manifest = index.manifest
    command = f"`cdesearch index --refresh-context --index {shlex.quote(str(index.folder))}`"
    if manifest.context_size < manifest.context_limit and manifest.n_chunks > MOST_GROWTH * manifest.context_size:
        return (
            f"The context was sampled when the index had {manifest.context_size:,} chunks; it has"
            f" {manifest.n_chunks:,} now. {command} samples a new one."
        )
    if measure_drift(index).level == "large":
        return f"The documents are unlike those that the context was sampled from. {command} samples a new one."
    return None
