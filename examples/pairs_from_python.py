"""Make training pairs from Python sources: the start of a docstring as the query, the code as the document.

    python examples/pairs_from_python.py OUT.jsonl [FOLDER] [--at-most N]

Without FOLDER the standard library of the running Python is read, so there is real data on every machine. The query is
the first paragraph of the docstring of a function or class; the document is its code without the docstring.
"""

import argparse
import ast
import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
WORDS = range(4, 60)  # in a query
LINES = range(3, 60)  # in a document


def pairs_of(file: Path) -> Iterator[dict[str, str]]:
    """The pairs from the documented functions and classes of one file."""
    try:
        source = file.read_text(encoding="utf-8")
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, Function):
            continue
        query = " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
        code = _without_docstring(node, source.splitlines())
        if len(query.split()) in WORDS and code.count("\n") in LINES:
            yield {"query": query, "document": code}


def _without_docstring(node: Function, lines: list[str]) -> str:
    first = node.body[0]
    kept = [
        line
        for number, line in enumerate(lines[node.lineno - 1 : node.end_lineno], start=node.lineno)
        if not first.lineno <= number <= (first.end_lineno or first.lineno)
    ]
    return "\n".join(kept)


def main() -> None:
    """Write one JSON line for each pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(sysconfig.get_path("stdlib")))
    parser.add_argument("--at-most", type=int, default=2000)
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        parser.exit(2, f"error: {arguments.folder} is not a folder. Name a folder.\n")
    files = sorted(file for file in arguments.folder.rglob("*.py") if "site-packages" not in file.parts)
    rows = [row for file in files for row in pairs_of(file)]
    rows = rows[:: max(1, len(rows) // arguments.at_most)][: arguments.at_most]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(f"{len(rows):,} pairs in {arguments.out}")


if __name__ == "__main__":
    main()
