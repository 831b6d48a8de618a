"""Bring an index up to date before a query, if that is quick."""

import shlex
from dataclasses import astuple

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device
from cdesearch.errors import IndexBusyError, StorageError
from cdesearch.models.endpoint_model import Model
from cdesearch.progress import Silent
from cdesearch.store.filesystem import foreign_owner
from cdesearch.store.fresh_build import still_answering
from cdesearch.store.index import Index
from cdesearch.store.place import on_disk
from cdesearch.terminal import printable
from indexer.build import build
from indexer.plan import Changes, find_changes
from indexer.settings import Options
from indexer.warm import Fresh

MOST_SECONDS = 1.0
# Estimates for two cores: seconds of any update, of each chunk and file of the index, and bytes of text embedded.
SECONDS = 0.4
SECONDS_PER_CHUNK = 6e-6
SECONDS_PER_FILE = 5e-5
BYTES_PER_SECOND = 20_000


def update_if_quick(
    index: Index, model: Model | None = None, device: Device = "auto", encoder: Encoder | None = None
) -> str | None:
    """Update the index if that takes less than MOST_SECONDS, and return a line about what is still out of date, if any.

    The line says how far behind the index is, and names the sources that do not exist.

    `model` is the model that the user has named. `encoder` is the model of the index if it is loaded already.
    Raises CdesearchError.
    """
    on_disk(index.place, "query --update")
    index.require_trust(model=model is None)
    if foreign_owner(index.folder, as_caller=False) is not None:
        return f"The index {printable(str(index.place))} belongs to another user, so it is not updated."
    if not index.manifest.is_complete:  # an update would complete the build; the answer shows its progress
        return None
    with index.checks.reporting_damage():
        changes = find_changes(index)
    sources = index.sources
    lines = [still_answering(source, sources, index.place, index.manifest) for source in index.missing_sources]
    lines += filter(
        None,
        [_update(index, changes, Options(index=index.place, model=model, device=device, keeps_context=True), encoder)],
    )
    return " ".join(lines) or None


def _update(index: Index, changes: Changes, options: Options, encoder: Encoder | None) -> str | None:
    """Update the index if that is quick; otherwise return a line that says how far behind it is."""
    *counts, _ = astuple(changes)
    if not any(counts):
        return None
    new, modified, deleted = counts
    behind = f"The index is behind by {new:,} new, {modified:,} modified and {deleted:,} deleted files"
    command = f"cdesearch index --index {shlex.quote(str(index.place))}"
    n_files = sum(index.manifest.files.values())
    size = index.manifest.n_chunks * SECONDS_PER_CHUNK + n_files * SECONDS_PER_FILE
    if SECONDS + size + changes.n_bytes / BYTES_PER_SECOND > MOST_SECONDS:
        return f"{behind}: run `{command}`."
    try:
        build([], options, Silent(), Fresh(encoder))
    except IndexBusyError:
        return f"{behind}; another run is updating it."
    except StorageError as error:  # the index answers nevertheless
        return f"{behind}, and cannot be updated: {error}"
    return None
