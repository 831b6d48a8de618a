"""Convert Jupyter notebooks to Markdown."""

from collections.abc import Iterator
from typing import Any

from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.json_file import parse_json
from indexer.formats.markdown import converted_document
from indexer.formats.unreadable import UnreadableError


class Notebook(Format):
    """Jupyter notebooks, without the outputs of their cells."""

    suffixes = frozenset({".ipynb"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        yield converted_document(file.path, "", _to_markdown(decode(file.stream.read())))


def _to_markdown(text: str) -> str:
    """Markdown cells as they are, and code cells fenced; raises UnreadableError."""
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
    sheet = sheets[0] if isinstance(sheets, list) and sheets else notebook
    cells = sheet.get("cells") if isinstance(sheet, dict) else None
    if not isinstance(cells, list):
        raise UnreadableError("not a Jupyter notebook")
    return [cell for cell in cells if isinstance(cell, dict)]


def _source(cell: dict[str, Any]) -> str:
    """The text of a cell, which is stored as one string or a list of lines; "" for a cell that has neither."""
    source = cell.get("source", cell.get("input"))
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))
