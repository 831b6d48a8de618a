"""Jupyter notebooks to Markdown."""

from typing import Any

from indexer.formats.json_values import parse_json
from indexer.formats.unreadable import UnreadableError


def notebook_markdown(text: str) -> str:
    """Markdown cells as they are, code cells fenced; outputs are left out; raises UnreadableError."""
    try:
        notebook = parse_json(text.encode("utf-8", "replace"))
    except ValueError:
        raise UnreadableError("not a Jupyter notebook") from None
    parts = []
    for cell in _cells(notebook):
        source = _source(cell)
        parts.append(f"```\n{source}\n```" if cell.get("cell_type") == "code" else source)
    return "\n\n".join(parts)


def _cells(notebook: Any) -> list[dict[str, Any]]:
    """The cells of format 4, or those of the first worksheet of format 3."""
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    held = sheets[0] if isinstance(sheets, list) and sheets else notebook
    cells = held.get("cells") if isinstance(held, dict) else None
    if not isinstance(cells, list):
        raise UnreadableError("not a Jupyter notebook")
    return [cell for cell in cells if isinstance(cell, dict)]


def _source(cell: dict[str, Any]) -> str:
    """A cell's text, which is one string or a list of lines; "" for a cell that has neither."""
    source = cell.get("source", cell.get("input"))
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))
