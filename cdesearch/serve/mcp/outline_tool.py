"""The tool `outline` lists the headings of a document, or the contents of a folder, within a budget of tokens."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from cdesearch.cli.token_budget import Answer, Budget, Part
from cdesearch.search.documents import DocumentEntry
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.mcp.documents import entries_of, find_document, index_and_path
from cdesearch.terminal import counted, printable

INDENT = 2  # spaces for each level of headings

Item = tuple[str, dict[str, Any]]  # one line of an outline, as text and as structured data


def outline(indexes: ServedIndexes, index: str | None, path: str, part: Part) -> Answer:
    """The outline of a document or folder, or as much of it as fits into the budget; raises CdesearchError."""
    served, path = index_and_path(indexes, index, path)
    entries = entries_of(served, path)
    if not path or any(entry.path != path for entry in entries):
        about, items = f"{path or served.name}  {counted(len(entries), 'document')}", _children(path, entries)
    elif len(entries) > 1:  # a file of records
        about, items = f"{path}  {counted(len(entries), 'document')}", [_document(entry) for entry in entries]
    else:
        about, items = _sections(indexes, served, path)
    start, budget = part.offset, Budget(part.max_tokens, served.searcher.tokenizer)

    def answer(n_items: int) -> Answer:
        shown, end = items[start : start + n_items], start + n_items
        more = f"{len(items) - end:,} more: the same call with offset={end}." if end < len(items) else ""
        lines = "\n".join(text for text, _ in shown)
        text = "\n\n".join(one for one in (printable(about), lines, more) if one)
        data = {"index": served.name, "path": path, "items": [item for _, item in shown], "total": len(items)}
        return Answer(text, data | ({"next_offset": end} if more else {}))

    return budget.largest(answer, min(max(0, len(items) - start), budget.max_tokens))


def _children(folder: str, entries: Sequence[DocumentEntry]) -> list[Item]:
    """The folders in a folder, each with its number of documents, and then the files in it."""
    start = len(folder) + 1 if folder else 0
    below = Counter(entry.path[start:].partition("/")[0] for entry in entries if "/" in entry.path[start:])
    inside: dict[str, list[DocumentEntry]] = {}
    for entry in entries:
        if "/" not in entry.path[start:]:
            inside.setdefault(entry.path, []).append(entry)
    prefix = f"{folder}/" if folder else ""
    folders = [_group("folder", f"{prefix}{name}", number) for name, number in sorted(below.items())]
    files = [_document(own[0]) if len(own) == 1 else _group("path", path, len(own)) for path, own in inside.items()]
    return folders + files


def _document(entry: DocumentEntry) -> Item:
    size = counted(entry.n_chunks, "part") if entry.n_chunks else "no text"
    title = entry.title if entry.title != entry.path.rpartition("/")[2] else ""
    text = printable(f"{entry.id}  {size}  {title}".rstrip())
    return text, {"path": entry.id, "parts": entry.n_chunks} | ({"title": printable(title)} if title else {})


def _group(kind: str, name: str, number: int) -> Item:
    """The line for a folder or a file of records, with its number of documents."""
    end = "/" if kind == "folder" else ""
    return printable(f"{name}{end}  {counted(number, 'document')}"), {kind: name, "documents": number}


def _sections(indexes: ServedIndexes, served: ServedIndex, path: str) -> tuple[str, list[Item]]:
    """A description of a document, and its headings with the line, page or part at which each of them starts."""
    document = find_document(indexes, served, path)
    headings = document.headings()
    top = min((heading.level for heading in headings), default=1)
    width = len(str(document.total))
    items: list[Item] = [
        (
            printable(f"{heading.number:>{width}} {' ' * INDENT * (heading.level - top)}{heading.text}"),
            {document.unit: heading.number, "level": heading.level - top + 1, "heading": printable(heading.text)},
        )
        for heading in headings
    ]
    size = counted(document.total, document.unit.rstrip("s"))
    return f"{document.path}  {size}  {document.chunks[0].title}", items
