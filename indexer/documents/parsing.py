"""Parse code, unless a parser would hang on it: for the splitter of a text, and for the definitions around a line.

The grammar of each language is from a wheel of its own, which is imported when the first file of it is parsed.
"""

import ctypes
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from semantic_text_splitter import CodeSplitter, MarkdownSplitter, TextSplitter

from indexer.formats.format import Document, Heading

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

Splitter = TextSplitter | MarkdownSplitter | CodeSplitter
SplitterOf = Callable[[int], Splitter]  # from the number of characters that a piece may have

SLICE = 1 << 16  # bytes that are passed to the parser at a time
SMALL = 2000  # characters; shorter code is parsed without a time limit
SMALL_SECONDS = 0.1  # processor time for SMALL characters; ordinary code takes less than a tenth of it
PARSE_SECONDS, PARSE_SECONDS_A_BYTE = 0.5, 1e-5  # processor time; ordinary code takes 6e-7 s per byte
# The scanner of the YAML grammar aborts the process at more than about 200 nested levels.
_DEEP_YAML = re.compile(r"^(?:[ ]{100}|(?:[-?:][ \t]{1,9}){50})", re.MULTILINE)
MAX_SIGNATURE = 80  # characters; every chunk of a long function begins with them
MAX_PARSED = 1_000_000  # characters
# Nodes of the grammars of many languages
_DEFINITION = re.compile(
    r"(?:\w+_)?(?:function|method|constructor|class|struct|enum|union|interface|trait|impl|module|mod|namespace|object|record|protocol|type_alias)"
    r"(?:_(?:definition|declaration|item|specifier|statement|implementation))?|function_expression|(?:struct|interface)_type"
    r"|block"  # of HCL
)
# The body in grammars where no field names it
_BODY = re.compile(r"(?:\w+_)?(?:body|block|declaration_list)|object_type|(?:method|type)_elem")
# Before a function without a name on its line is what it is assigned to or passed to.
_BEFORE = re.compile(rb"\s*(?!end\b)(?=[\w$@\"'.])")
MAX_BEFORE = 200  # bytes
# The languages whose grammar is the function `language` of the module `tree_sitter_` and their name; then the others.
# Languages that are not here are split by lines: no maintained wheel of their grammar has a free licence and runs on
# every system.
_USUAL = """
    ada agda arduino bash bicep c commonlisp cpp css cuda dart elixir fortran fsharp glsl go groovy haskell hcl hlsl
    java javascript json julia kconfig kdl kotlin llvm lua luau make matlab nix objc odin perl powershell puppet
    python ruby rust scala scss solidity sql starlark svelte swift toml verilog vhdl yaml zig
"""
MODULES = {language: f"tree_sitter_{language}" for language in _USUAL.split()} | {
    "csharp": "tree_sitter_c_sharp", "dtd": "tree_sitter_xml.language_dtd",
    "embeddedtemplate": "tree_sitter_embedded_template", "fsharp_signature": "tree_sitter_fsharp.language_signature",
    "ocaml": "tree_sitter_ocaml.language_ocaml", "ocaml_interface": "tree_sitter_ocaml.language_ocaml_interface",
    "php": "tree_sitter_php.language_php", "tsx": "tree_sitter_typescript.language_tsx",
    "typescript": "tree_sitter_typescript.language_typescript", "xml": "tree_sitter_xml.language_xml",
}  # fmt: skip
_CAPSULE = b"tree_sitter.Language"  # the name that the libraries expect; a capsule keeps no copy of it


def splitter_for(text: str, layout: str, language: str | None) -> SplitterOf:
    """The splitter of `text` for any capacity; code that no grammar parses in time is split as plain text."""
    if layout == "code" and (language is None or parse_code(text, language) is None):
        return partial(_splitter, "text", None)
    return partial(_splitter, layout, language)


@lru_cache(maxsize=64)
def _splitter(layout: str, language: str | None, capacity: int) -> Splitter:
    if layout == "markdown":
        return MarkdownSplitter(capacity)
    if layout == "code":
        return CodeSplitter(grammar_of(language or ""), capacity)
    return TextSplitter(capacity)


@lru_cache(maxsize=1)  # code is parsed once for its definitions and once for its splitter
def parse_code(text: str, language: str) -> "Tree | None":
    """The syntax tree of `text`; None if there is no grammar, or if it takes too long: broken code may take hours."""
    from tree_sitter import Language, Parser

    grammar = grammar_of(language)
    if grammar is None or (language == "yaml" and _DEEP_YAML.search(text)):
        return None
    parser = Parser(Language(grammar))
    data = text.encode("utf-8", "replace")
    if len(text) <= SMALL:
        return parser.parse(data)
    limit = PARSE_SECONDS + PARSE_SECONDS_A_BYTE * len(data)
    deadline = time.thread_time() + limit
    for start in range(0, len(text), SMALL):
        # A parser that is slow on a short text would not finish a long one. While it resolves ambiguities it does not
        # call the callback below, so it cannot be stopped. Each of many parts may be just fast enough, and all together
        # take longer than a worker may without progress.
        started = time.thread_time()
        parser.parse(text[start : start + SMALL].encode("utf-8", "replace"))
        if time.thread_time() > min(deadline, started + SMALL_SECONDS):
            return None
    deadline = time.thread_time() + limit
    try:
        return parser.parse(
            lambda offset, _: data[offset : offset + SLICE],
            progress_callback=lambda *_: time.thread_time() > deadline,
        )
    except ValueError:  # the callback has stopped it
        return None


def with_definitions(document: Document) -> Document:
    """Code with a heading for each class and function that has a body of several lines."""
    if document.layout != "code" or document.language is None or document.headings or document.pages:
        return document
    tree = parse_code(document.text, document.language) if len(document.text) <= MAX_PARSED else None
    return document if tree is None else replace(document, headings=tuple(_headings(document.text, tree)))


def _headings(text: str, tree: "Tree") -> Iterator[Heading]:
    """Yield the headings in the order of the text.

    Where text follows a definition that is not in the next one, an empty heading ends the definition.
    """
    data = text.encode("utf-8", "replace")
    found = []
    for start, end, level, title in _definitions(data, tree):
        found += [(start, level, title), (end, level, "")]
    # A definition ends before the next one begins.
    found.sort(key=lambda one: (one[0], bool(one[2]), one[1] if one[2] else -one[1]))
    offset = before = 0
    for (start, level, title), (end, _, _) in pairwise([*found, (len(data), 0, "")]):
        offset += start - before if text.isascii() else len(data[before:start].decode("utf-8", "replace"))
        before = start
        if title or data[start:end].strip():
            yield Heading(offset, level, title)


def _definitions(data: bytes, tree: "Tree") -> Iterator[tuple[int, int, int, str]]:
    """Yield the start, the end, the level and the signature of each definition. Offsets are in bytes."""
    nodes: list[tuple[Node, Node, int]] = [(tree.root_node, tree.root_node, 1)]
    while nodes:
        node, outer, level = nodes.pop()
        inner, body = node.named_children, None
        if _may_define(node.type) and node.end_point.row > node.start_point.row and _does_define(node, outer):
            own = node.child_by_field_name("body")
            body = own or next((child for child in inner if _BODY.fullmatch(child.type)), None)
        if body is not None:
            start = _start(data, node)
            end = min([body.start_byte, *(child.start_byte for child in node.children if child.type == "comment")])
            title = _one_line(data[start:end])
            if outer.type == "type_definition":  # of C has the name after the body
                title += f" {_one_line(data[node.end_byte : outer.end_byte])}"
            name = node.child_by_field_name("name")
            if len(title) > MAX_SIGNATURE and name is not None:  # without the annotations on the lines above the name
                title = _one_line(data[max(start, data.rfind(b"\n", 0, name.start_byte) + 1) : end])
            if title := title[:MAX_SIGNATURE]:
                yield start, node.end_byte, level, title
                level += 1
        nodes += [(child, node, level) for child in inner if child.named_child_count]


def _one_line(text: bytes) -> str:
    return " ".join(text.decode("utf-8", "replace").split()).rstrip(" :{=;")


_may_define = lru_cache(maxsize=1024)(_DEFINITION.fullmatch)


def _does_define(node: "Node", outer: "Node") -> bool:
    if node.type == "block":
        return outer.type == "body"
    return outer.type == "type_spec" or not node.type.endswith("_type")


def _start(data: bytes, node: "Node") -> int:
    """Where a definition starts: one without a name, at the name before it on its line."""
    if any(node.child_by_field_name(name) for name in ("name", "declarator")):
        return node.start_byte
    line = data.rfind(b"\n", 0, node.start_byte) + 1
    before = _BEFORE.match(data, line, node.start_byte) if node.start_byte - line <= MAX_BEFORE else None
    return before.end() if before else node.start_byte


@lru_cache
def grammar_of(language: str) -> Any:
    """The grammar in the form that tree-sitter and the splitter take; None if its wheel is not installed."""
    module, _, function = MODULES.get(language, "").partition(".")
    if not module:
        return None
    try:
        grammar = getattr(import_module(module), function or "language")()
    except ImportError:  # the wheel is in the extra `grammars`
        return None
    if not isinstance(grammar, int):
        return grammar
    new = ctypes.pythonapi.PyCapsule_New  # for the address that some wheels return, the object that others return
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(grammar, _CAPSULE, None)
