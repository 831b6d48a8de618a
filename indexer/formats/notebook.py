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
        try:
            notebook = parse_json(decode(file.stream.read()).encode("utf-8", "replace"))
        except ValueError:
            notebook = None
        cells = _cells(notebook)
        if cells is None:
            raise UnreadableError("not a Jupyter notebook")
        texts = []
        for cell in cells:
            source = cell.get("source", cell.get("input"))
            lines = source if isinstance(source, list) else [source]
            text = "".join(line for line in lines if isinstance(line, str))
            texts.append(f"```\n{text}\n```" if cell.get("cell_type") == "code" else text)
        yield converted_document(file.path, "", "\n\n".join(texts))


def _cells(notebook: Any) -> list[dict[str, Any]] | None:
    """The cells of format 4, or those of the first worksheet of format 3; None if there are none."""
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    sheet = sheets[0] if isinstance(sheets, list) and sheets else notebook
    cells = sheet.get("cells") if isinstance(sheet, dict) else None
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else None
