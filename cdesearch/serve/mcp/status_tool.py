"""The tool `status` shows what is indexed, and how many files have changed since."""

from typing import Any

from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.mcp.answers import Answer
from cdesearch.store.copies import shown_source
from cdesearch.terminal import printable


def status(indexes: ServedIndexes, index: str | None) -> Answer:
    """The status of the named index, or of all indexes if none is named."""
    facts = [_facts(served) for served in (indexes if index is None else [indexes[index]])]
    text = "\n\n".join("\n".join(f"{name}: {_shown(value)}" for name, value in one.items()) for one in facts)
    return Answer(text, {"indexes": facts})


def _facts(served: ServedIndex) -> dict[str, Any]:
    facts, error = served.status()
    problem = {} if error is None else {"problem": str(error)}
    return {"index": served.name, "root": shown_source(served.index.root), **facts, **problem}


def _shown(value: Any) -> str:
    return printable(", ".join(value) or "none" if isinstance(value, list) else str(value))
