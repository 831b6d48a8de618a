"""Unique names of functions and classes in source code, and where each of them is defined."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import HALVES, Half
from cdesearch.store.schema import Chunk

NAME_KINDS = {
    "snake_case": re.compile(r"_*[a-z0-9]+(?:_[a-z0-9]+)+"),
    "CamelCase": re.compile(r"_*(?:[A-Z]+[a-z0-9]+){2,}"),
}
PER_KIND = 40  # names of a library, of which each half has every other one


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A name that a library defines once."""

    text: str
    kind: str  # one of NAME_KINDS
    path: str
    line: int  # of the definition, from 1

    def is_defined_in(self, chunk: Chunk) -> bool:
        """Whether a chunk contains the line of the definition."""
        return chunk.path == self.path and (chunk.line_start or 0) <= self.line <= (chunk.line_end or 0)

    def is_used_in(self, chunk: Chunk) -> bool:
        """Whether a chunk contains the name as a whole."""
        return re.search(rf"(?<!\w){re.escape(self.text)}(?!\w)", chunk.body) is not None


def sampled_names(files: Path, half: Half = "all") -> list[Name]:
    """At most PER_KIND unique names of each kind, or those of one half; the same in every run."""
    chosen = []
    every = unique_names(files)
    for kind in NAME_KINDS:
        names = [name for name in every if name.kind == kind]
        rows = np.random.default_rng(0).permutation(len(names))[:PER_KIND].tolist()
        start, step = (0, 1) if half == "all" else (HALVES.index(half), 2)
        chosen += [names[row] for row in rows[start::step]]
    return chosen


def unique_names(files: Path) -> list[Name]:
    """All names of a kind of NAME_KINDS that the files of a folder define exactly once, in alphabetical order."""
    found = []
    for file in sorted(one for one in files.rglob("*") if one.suffix in (".py", ".c")):
        path, code = file.relative_to(files).as_posix(), file.read_text(encoding="utf-8")
        for text, line in _defined_in_python(code) if file.suffix == ".py" else _defined_in_c(code):
            kind = next((kind for kind, pattern in NAME_KINDS.items() if pattern.fullmatch(text)), None)
            found.append(Name(text, kind or "", path, line))
    times = Counter(name.text for name in found)
    return sorted(name for name in found if name.kind and times[name.text] == 1)


def _defined_in_python(code: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def _defined_in_c(code: str) -> Iterator[tuple[str, int]]:
    from tree_sitter_language_pack import get_parser

    nodes = [get_parser("c").parse(code.encode()).root_node]
    while nodes:
        node = nodes.pop()
        nodes += node.children
        declarator = node.child_by_field_name("declarator") if node.type == "function_definition" else None
        while declarator is not None and declarator.type != "identifier":
            declarator = declarator.child_by_field_name("declarator")
        if declarator is not None and declarator.text is not None:
            yield declarator.text.decode(), declarator.start_point.row + 1
