"""Read notebooks of Jupyter and canvases of Obsidian, which are JSON, as Markdown."""

from collections.abc import Iterator
from typing import Any

from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.html import to_markdown
from indexer.formats.json_file import parse_json
from indexer.formats.markdown import converted_document

MAX_OUTPUT = 2_000  # characters of an output of a cell that are read
MAX_HTML = 100_000  # characters of an output; charts have more


class Notebook(Format):
    """Jupyter notebooks, with what their cells have printed. Of an error its message is read, not its traceback."""

    suffixes = frozenset({".ipynb"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        cells = _cells(_value(file))
        if cells is None:
            raise UnreadableError("not a Jupyter notebook")
        texts = []
        for number, cell in enumerate(cells, start=1):
            source = _text(cell.get("source", cell.get("input")))
            texts.append(_fenced(source) if cell.get("cell_type") == "code" else source)
            for text, is_code in map(_output, _objects(cell.get("outputs"))):
                if len(text) > MAX_OUTPUT:
                    file.left_out.add(f"of cell {number}", f"is cut after {MAX_OUTPUT:,} characters", "output")
                texts.append(_fenced(text[:MAX_OUTPUT]) if is_code else text[:MAX_OUTPUT])
        yield converted_document(file.path, "", "\n\n".join(filter(None, texts)))


class Canvas(Format):
    """Canvases of Obsidian: the texts of cards, and the names of groups, arrows, files and links."""

    suffixes = frozenset({".canvas"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        canvas = _value(file)
        if not isinstance(canvas, dict):
            raise UnreadableError("not a canvas")
        items = [*_objects(canvas.get("nodes")), *_objects(canvas.get("edges"))]
        texts = (item[key] for item in items for key in ("label", "text", "file", "url") if key in item)
        yield converted_document(file.path, file.name, "\n\n".join(map(_text, texts)))


def _value(file: OpenFile) -> Any:
    """The value of a file of JSON; None if it is broken."""
    try:
        return parse_json(decode(file.stream.read()).encode("utf-8", "replace"))
    except ValueError:
        return None


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    """A text, which may be a list of its lines."""
    return "".join(line for line in (value if isinstance(value, list) else [value]) if isinstance(line, str))


def _cells(notebook: Any) -> list[dict[str, Any]] | None:
    """The cells of format 4, or those of the first worksheet of format 3; None if there are none."""
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    sheet = sheets[0] if isinstance(sheets, list) and sheets else notebook
    cells = sheet.get("cells") if isinstance(sheet, dict) else None
    return _objects(cells) if isinstance(cells, list) else None


def _fenced(text: str) -> str:
    return f"```\n{text}\n```" if text.strip() else ""


def _output(output: dict[str, Any]) -> tuple[str, bool]:
    """The text of an output of a cell, and whether it is code rather than Markdown."""
    if "ename" in output:
        return f"{_text(output['ename'])}: {_text(output.get('evalue'))}", True
    kinds = output["data"] if isinstance(output.get("data"), dict) else {}
    plain, html = _text(output.get("text", kinds.get("text/plain"))), _text(kinds.get("text/html"))
    if markdown := _text(kinds.get("text/markdown")):
        return markdown, False
    if plain.startswith("<"):  # the name of an object, such as a chart
        return to_markdown(html).text if len(html) <= MAX_HTML else "", False
    # Of a bar of progress, the last state is read.
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in plain.strip("\n").split("\n")), True
