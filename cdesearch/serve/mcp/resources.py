"""Indexed documents as MCP resources, which a user or a client can attach to a conversation."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from cdesearch.errors import InputError
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.mcp import read_tool
from cdesearch.serve.mcp.budget import MAX_TOKENS
from cdesearch.serve.mcp.named_document import entries_of
from cdesearch.terminal import counted, printable

PAGE = 100  # the number of resources in one response
SCHEME = "cdesearch:///"
TEMPLATE = SCHEME + "{index}/{+path}"


@dataclass(frozen=True, slots=True)
class DocumentResource:
    """The entry of one document in the list of resources."""

    uri: str
    name: str
    title: str
    description: str


def list_resources(indexes: ServedIndexes, cursor: str | None) -> tuple[list[DocumentResource], str | None]:
    """Return one page of the documents of all indexes, and the cursor of the next page, which is None at the end.

    Raises InputError for an invalid cursor.
    """
    if not re.fullmatch(r"[0-9]{1,9}", cursor or "0"):
        raise InputError(f"{cursor!r:.60} is not a cursor.", "List the resources without a cursor.")
    found = [(served.name, entry) for served in indexes for entry in entries_of(served, "")]
    start = int(cursor or "0")
    end = start + PAGE
    resources = [
        DocumentResource(
            uri=f"{SCHEME}{quote(name, safe='')}/{quote(entry.id)}",
            name=printable(entry.id),
            title=printable(entry.title or entry.id),
            description=f"{counted(entry.n_chunks, 'part')} in the index {name}",
        )
        for name, entry in found[start:end]
    ]
    return resources, str(end) if end < len(found) else None


def read_resource(indexes: ServedIndexes, uri: str) -> str:
    """Return the text of a document, truncated to `MAX_TOKENS`; raises CdesearchError."""
    name, _, path = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not path:
        raise InputError(f"{uri:.200} is not a document of this server.", f"Use an address of the form {TEMPLATE}.")
    nothing = dict.fromkeys((*read_tool.UNITS, "cursor"))
    values = {**nothing, "index": unquote(name), "path": unquote(path), "max_tokens": MAX_TOKENS}
    answer = read_tool.read(indexes, values).data
    if "left" not in answer:
        return str(answer["text"])
    rest = f"{answer['left']} of {answer['total']}"
    return f"{answer['text']}\n\n[The text is truncated here. The tool `read` returns the rest, which is {rest}.]"
