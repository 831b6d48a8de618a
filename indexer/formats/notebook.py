"""Read notebooks of Jupyter and canvases of Obsidian, which are JSON, as Markdown."""

from collections.abc import Iterator
from contextlib import suppress
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
        notebook = _object(file, "Jupyter notebook")
        sheets = _objects(notebook.get("worksheets"))  # of format 3, which has the cells of the first one
        cells = (sheets[0] if sheets else notebook).get("cells")
        if not isinstance(cells, list):
            raise UnreadableError("not a Jupyter notebook")
        texts = []
        for number, cell in enumerate(_objects(cells), start=1):
            source = _joined(cell.get("source", cell.get("input")))
            texts.append(f"```\n{source}\n```" if cell.get("cell_type") == "code" else source)
            for text, is_code in map(_output, _objects(cell.get("outputs"))):
                if len(text) > MAX_OUTPUT:
                    file.left_out.add(f"of cell {number}", f"is cut after {MAX_OUTPUT:,} characters", "output")
                texts.append(f"```\n{text[:MAX_OUTPUT]}\n```" if is_code and text else text[:MAX_OUTPUT])
        yield converted_document(file.path, "", "\n\n".join(filter(None, texts)))


class Canvas(Format):
    """Canvases of Obsidian: the texts of cards, and the names of groups, arrows, files and links."""

    suffixes = frozenset({".canvas"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        canvas = _object(file, "canvas")
        items = [*_objects(canvas.get("nodes")), *_objects(canvas.get("edges"))]
        texts = (item[key] for item in items for key in ("label", "text", "file", "url") if key in item)
        yield converted_document(file.path, file.name, "\n\n".join(map(_joined, texts)))


def _object(file: OpenFile, kind: str) -> dict[str, Any]:
    """The object that a file of JSON contains; raises UnreadableError if there is none."""
    with suppress(ValueError):
        value = parse_json(decode(file.stream.read()).encode("utf-8", "replace"))
        if isinstance(value, dict):
            return value
    raise UnreadableError(f"not a {kind}")


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _joined(value: Any) -> str:
    """A text, which may be a list of its lines."""
    return "".join(line for line in (value if isinstance(value, list) else [value]) if isinstance(line, str))


def _output(output: dict[str, Any]) -> tuple[str, bool]:
    """The text of an output of a cell, and whether it is code rather than Markdown."""
    if "ename" in output:
        return f"{_joined(output['ename'])}: {_joined(output.get('evalue'))}", True
    kinds = output["data"] if isinstance(output.get("data"), dict) else {}
    plain = _joined(output.get("text", kinds.get("text/plain"))).strip("\n")
    if markdown := _joined(kinds.get("text/markdown")):
        return markdown, False
    if "\n" not in plain or plain.startswith("<"):  # perhaps the name of an object, such as a chart, or of HTML
        shown = to_markdown(_joined(kinds.get("text/html"))[:MAX_HTML]).text
        if plain.startswith("<") or not {*shown.split()} <= {*plain.split()}:
            return shown, False
    # Of a bar of progress, the last state is read.
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n")]
    return "\n".join(filter(None, ["\n".join(lines), _joined(kinds.get("text/latex"))])), True
