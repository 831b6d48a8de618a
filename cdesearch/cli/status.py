"""The status of an index: what is indexed, and what has changed since the last update."""

import shlex
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from cdesearch.builders import BUILDER
from cdesearch.search.corpus_languages import unread_languages
from cdesearch.search.drift import describe, level_of, measure_drift
from cdesearch.search.field_filter import IndexedFields
from cdesearch.search.stages import describe_second_stage
from cdesearch.store.copies import shown_source
from cdesearch.store.file_account import OUTCOMES, FileRecord
from cdesearch.store.index import Index
from cdesearch.store.place import BucketAddress
from cdesearch.store.trust import unconfirmed
from cdesearch.terminal import print_json, print_rows, printable
from cdesearch.words.detection import described, percentage

PREFIXES = ("query_prefix", "document_prefix")


def read_status(index: Index) -> dict[str, Any]:
    """The status of an index as names and values, in the order in which they are shown.

    Raises IndexStateError; IndexDamagedError if a file is damaged, even one that the status does not read. Raises
    IndexUntrustedError if the index names a folder that the user has not confirmed, before this folder is read.
    """
    with index.checks.reporting_damage():
        manifest = index.manifest
        reads_sources = _may_read_sources(index)
        index.checks.require_tables()  # the status may not read a table, but must not call a damaged index sound
        changes = BUILDER.changes(index) if reads_sources else {}
        return {
            "root": shown_source(index.root),
            "documents": manifest.n_documents,
            "chunks": manifest.n_chunks,
            "vectors": manifest.n_chunks if manifest.n_vectors is None else manifest.n_vectors,
            "vectors_stored_as": manifest.vectors,
            "dimension": manifest.dimension,
            "vector_bytes": manifest.n_chunks * index.vectors.n_bytes,  # without their search index
            "stage": manifest.stage,
            **{f"{outcome}_files": manifest.files[outcome] for outcome in OUTCOMES},
            **{name: shlex.join(globs) for name, globs in asdict(manifest.globs).items() if globs},
            "size_mb": round(index.size_bytes() / 1e6, 1),
            "updated_hours_ago": round(max(0.0, time.time() - manifest.updated) / 3600, 1),
            "model": manifest.model or "default",
            **({"lost_model": lost} if (lost := index.lost_model) else {}),
            **_served(index),
            **({"added_context": manifest.added_context} if manifest.model else {}),
            "model_fingerprint": manifest.model_fingerprint,
            **_languages(index),
            "context": f"{manifest.context_size} chunks, seed {manifest.seed}",
            "context_fingerprint": manifest.context_fingerprint,
            **describe_second_stage(index),
            **{f"{kind}_files": count for kind, count in changes.items()},
            "missing_sources": [*map(shown_source, index.missing_sources if reads_sources else ())],
            "drift": _drift(index),
        }


def _may_read_sources(index: Index) -> bool:
    """Whether the folders that the index names may be read, as the user has confirmed.

    Raises IndexUntrustedError if not. An index in a bucket may describe the files of another computer, so its status
    is shown without changes then.
    """
    folders = replace(index.trust_request, model=None)
    if isinstance(index.place, BucketAddress) and not unconfirmed(index.place, folders).is_empty:
        return False
    index.require_trust(model=False)
    return True


def _served(index: Index) -> dict[str, str]:
    """The name and the prefixes of a model on a server; empty for another model."""
    served = index.manifest.served
    if served is None:
        return {}
    prefixes = {name: getattr(served, name) for name in PREFIXES}
    return {"model_name": served.name} | {name: prefix for name, prefix in prefixes.items() if prefix}


def show_status(report: dict[str, Any]) -> None:
    """Print a status as lines; prefixes in quotation marks, because the space at their end counts."""
    if attended := report.pop("most_attended", []):
        report["second_stage"] += f"; most attended: {', '.join(attended)}"
    shown = {name: shlex.quote(value) if name in PREFIXES else str(value) for name, value in report.items()}
    print_rows([(name.replace("_", " "), printable(text)) for name, text in shown.items()])


def _languages(index: Index) -> dict[str, str]:
    """The languages of the chunks, and what the model or full text cannot do with them; empty if unknown."""
    shares = index.manifest.languages
    shown, rest = described(shares), 1 - sum(shares.values())
    if shown and rest > 0.005:
        shown += f" (the language of {percentage(rest)} of the chunks is unknown)"
    facts = {"languages": shown, "unread": unread_languages(index, index.place)}
    return {name: text for name, text in facts.items() if text}


def _drift(index: Index) -> str:
    """Describe the drift. It is measured here if the manifest, which an older version may have written, lacks it."""
    manifest = index.manifest
    if not manifest.is_complete:
        return "not measured: the index is not complete"
    drift = measure_drift(index) if manifest.drift is None else manifest.drift
    reason = BUILDER.stale(replace(manifest, drift=drift))
    if reason is None and level_of(drift) != "large":
        return describe(drift)
    where = shlex.quote(str(index.place))
    why = "" if reason is None else f" {reason}"
    return f"{describe(drift)}.{why} `cdesearch index --refresh-context --index {where}` samples a new context."


def show_fields(index: Index, *, as_json: bool) -> None:
    """Print the fields of the indexed texts, with examples of their values, in columns or as one JSON object."""
    found = [*IndexedFields(index).described()]
    if as_json:
        print_json({"fields": found})
    elif not found:
        sys.stderr.write("No indexed file has fields.\n")
    else:
        rows = [(one["name"], one["type"], f"{one['values']:,}", ", ".join(one["examples"])) for one in found]
        print_rows([("field", "type", "values", "examples"), *(tuple(map(printable, row)) for row in rows)])


def show_files(index: Index, *, only_skipped: bool, as_json: bool) -> None:
    """Print the outcome of every file, as one line for each file or as one JSON object."""
    records: Iterable[FileRecord] = index.file_records()
    if only_skipped:  # or indexed although a part could not be read
        records = (file for file in records if file.outcome == "skipped" or file.is_in_part)
    if as_json:
        rows = [{"path": file.path, "outcome": file.outcome, "reason": file.reason} for file in records]
        print_json({"root": shown_source(index.root), "files": rows})
        return
    is_empty = True
    for file in records:
        is_empty = False
        reason = f"  ({file.reason})" if file.reason else ""
        sys.stdout.write(printable(f"{file.outcome}  {file.path}{reason}") + "\n")
    if only_skipped and is_empty:
        sys.stderr.write("No file was skipped.\n")
