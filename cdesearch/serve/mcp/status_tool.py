"""The tool `status` shows what is indexed, and how many files have changed since."""

from typing import Any

from cdesearch.cli.status import read_status
from cdesearch.errors import CdesearchError
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.mcp.budget import Answer
from cdesearch.store.folder import shown_path
from cdesearch.terminal import printable

MAX_DETAILED = 5  # for more indexes than this, only names and sizes are shown


def status(indexes: ServedIndexes, values: dict[str, Any]) -> Answer:
    """Return the status of the named index, or of all indexes if none is named."""
    chosen = list(indexes) if values["index"] is None else [indexes[values["index"]]]
    facts = [_facts(served) if len(chosen) <= MAX_DETAILED else _size(served) for served in chosen]
    text = "\n\n".join("\n".join(f"{name}: {_shown(value)}" for name, value in one.items()) for one in facts)
    return Answer(text, {"indexes": facts})


def _size(served: ServedIndex) -> dict[str, Any]:
    manifest = served.index.manifest
    return {
        "index": served.name,
        "root": shown_path(served.index.root),
        "documents": manifest.n_documents,
        "chunks": manifest.n_chunks,
    }


def _facts(served: ServedIndex) -> dict[str, Any]:
    facts = _size(served)
    problem = served.problem
    try:
        facts |= served.read(read_status)
    except CdesearchError as error:  # the caller needs the error together with what is still known
        problem = problem or error
    return facts | ({"problem": str(problem)} if problem else {})


def _shown(value: Any) -> str:
    return printable(", ".join(value) or "none" if isinstance(value, list) else str(value))
