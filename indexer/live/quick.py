"""Bring an index up to date before a query if that is quick, and otherwise in the background."""

import shlex
from contextlib import suppress

from cdesearch.child_process import python_module, same_modules, start_detached
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device
from cdesearch.errors import CdesearchError, IndexBusyError
from cdesearch.models.endpoint_model import Model
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from cdesearch.store.place import on_disk
from cdesearch.store.server_address import make_runtime_folder, update_log_of
from indexer.build import build
from indexer.generations.lock import is_locked
from indexer.plan import Changes, find_changes
from indexer.settings import Options
from indexer.staleness import staleness
from indexer.warm import Warm

MOST_SECONDS = 1.0
# Estimates for two cores: seconds of any update, of each chunk and file of the index, and bytes of text embedded.
SECONDS = 0.4
SECONDS_PER_CHUNK = 6e-6
SECONDS_PER_FILE = 5e-5
BYTES_PER_SECOND = 20_000


def update_if_quick(
    index: Index,
    *,
    device: Device = "auto",
    model: Model | None = None,
    encoder: Encoder | None = None,
    in_background: bool = True,
) -> str | None:
    """Update the index if that takes about MOST_SECONDS; otherwise start an update, or return the command for it.

    Returns a line about what the index lacks; None if it lacks nothing. `model` is the model that the user has named,
    and `encoder` that of the index if it is loaded already. An update that fails is a part of the line.
    """
    changes: Changes | None = None
    try:
        with index.checks.reporting_damage():
            changes = find_changes(index)
        if not changes.has_news:
            return None
        n_files, n_chunks = sum(index.manifest.files.values()), index.manifest.n_chunks
        size = n_chunks * SECONDS_PER_CHUNK + n_files * SECONDS_PER_FILE
        if SECONDS + size + changes.n_bytes / BYTES_PER_SECOND > MOST_SECONDS:
            command = f"run `cdesearch index --index {shlex.quote(str(index.place))}`"
            return _lacks(changes, _started(index) if in_background else command)
        build([], Options(index=index.place, model=model, device=device, keeps_context=True), Silent(), Warm(encoder))
    except IndexBusyError:
        return _lacks(changes, "another run is indexing them")
    except (CdesearchError, OSError) as error:
        return _lacks(changes, f"the index cannot be updated: {str(error).removesuffix('.')}")
    if in_background:
        # A run that samples a new context, if the old one no longer fits and no text must be embedded for it.
        index = Index(index.place)
        if staleness(index.manifest) and not index.manifest.embeds_on_refresh:
            with suppress(CdesearchError, OSError):  # the next update tries again
                _started(index)
    return None


def _lacks(changes: Changes | None, what_happens: str) -> str | None:
    if changes is None or not any(changes.counts.values()):  # an answer lacks nothing that is known
        return None
    new, modified, deleted = changes.counts.values()
    return f"This answer lacks {new:,} new, {modified:,} modified and {deleted:,} deleted files: {what_happens}."


def _started(index: Index) -> str:
    """Start an update in the background unless one is running, and say so."""
    folder = on_disk(index.place, "index")
    if is_locked(folder):
        raise IndexBusyError("Another run is indexing.", "Wait for it to end.")
    make_runtime_folder()
    start_detached(python_module("cdesearch", "index", "--index", str(folder)), update_log_of(folder), same_modules())
    return "they are being indexed in the background"
