"""Whether the context of an index still describes its corpus, and what to do if not."""

import shlex

from cdesearch.context.sample import FITTED_TEXTS
from cdesearch.search.drift import level_of
from cdesearch.store.manifest import Manifest
from cdesearch.store.place import Place

# On samples of training domains, growth to ten times the chunks of the context changed nDCG@10 by -.003 to .002, and
# growth from 40 chunks to 2,000 by -.004 in dense search; both are within the noise.
MOST_GROWTH = 5
# The largest distance between the mean vectors of the corpus and of the sample. If the sample is a tenth of the corpus
# about one subject, the distance is .2 to .3, and nDCG@10 is the same. If the documents are of another domain, the
# distance is .56, and dense search loses .005.
MOST_DISTANCE = 0.4


def staleness(manifest: Manifest) -> str | None:
    """A sentence that says why the context no longer describes the corpus; None if it does."""
    before = manifest.context_chunks
    if before < FITTED_TEXTS and manifest.n_chunks > MOST_GROWTH * before:
        return f"The context was sampled when the index had {before:,} chunks; it has {manifest.n_chunks:,} now."
    # The drift is that distance in standard errors of the sample's mean, which are about 1 / sqrt(its size).
    distance = (manifest.drift or 0) / max(manifest.context_size, 1) ** 0.5
    if level_of(manifest.drift) == "large" and distance > MOST_DISTANCE:
        return "The documents are unlike those that the context was sampled from."
    return None


def advice(place: Place, manifest: Manifest) -> str | None:
    """A line that advises a new context for the index at `place` if the corpus has grown or changed too much."""
    reason = staleness(manifest)
    command = f"`cdesearch index --refresh-context --index {shlex.quote(str(place))}`"
    return f"{reason} {command} samples a new one." if reason else None
