"""Read source code: the language of each suffix, file name and interpreter."""

import re
from collections.abc import Iterator
from pathlib import PurePath

from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile, suffix_of
from indexer.formats.unreadable import GeneratedError

MINIFIED = 500  # characters per line; people write code in shorter lines
FIRST_LINES, FIRST_CHARACTERS, SHOWN_CHARACTERS = 6, 2000, 80
# A comment that a generator writes; "generated" alone is a word of many programs.
_GENERATED = re.compile(
    r"^\s*(?:#|//|/?\*|--|;|%|<!--|\(\*|\|\*|\"\s|'\s|rem\b)\W{0,9}"
    r"(?:.{0,60}\b)?(?:@generated|do not (?:edit|modify)|auto(?:matically)?[- ]?generated)\b"
    r"|^\W{1,9}(?:(?:this )?(?:file|code)(?: (?:is|was|has been))? )?(?:automatically )?"
    r"generated (?:by|from|with|using|automatically)\b",
    re.IGNORECASE,
)
# Names of tree-sitter grammars
LANGUAGES = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".tsx": "tsx", ".java": "java", ".go": "go", ".rs": "rust", ".c": "c", ".h": "c",
    ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp", ".cs": "csharp", ".rb": "ruby",
    ".php": "php", ".swift": "swift", ".kt": "kotlin", ".scala": "scala", ".sh": "bash", ".bash": "bash",
    ".zsh": "bash", ".lua": "lua", ".r": "r", ".jl": "julia", ".pl": "perl", ".sql": "sql", ".toml": "toml",
    ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".xml": "xml", ".css": "css", ".scss": "scss",
    ".hs": "haskell", ".ml": "ocaml", ".ex": "elixir", ".exs": "elixir", ".erl": "erlang", ".clj": "clojure",
    ".zig": "zig", ".dart": "dart", ".tf": "hcl", ".proto": "proto", ".graphql": "graphql", ".vue": "vue",
    ".m": "matlab", ".f90": "fortran", ".el": "elisp", ".nix": "nix", ".cmake": "cmake", ".ini": "ini",
    ".cfg": "ini", ".ps1": "powershell", ".psm1": "powershell", ".psd1": "powershell", ".bat": "batch", ".cmd": "batch",
    ".svelte": "svelte", ".vb": "vb", ".gradle": "groovy", ".groovy": "groovy", ".kts": "kotlin", ".cjs": "javascript",
    ".mts": "typescript", ".cts": "typescript", ".fish": "fish", ".ksh": "bash", ".less": "scss", ".sass": "scss",
    ".hxx": "cpp", ".cu": "cuda", ".mm": "objc", ".f": "fortran", ".f95": "fortran", ".pas": "pascal", ".pm": "perl",
    ".tcl": "tcl", ".asm": "asm", ".s": "asm", ".v": "verilog", ".sv": "verilog", ".vhd": "vhdl", ".vhdl": "vhdl",
    ".lisp": "commonlisp", ".scm": "scheme", ".rkt": "racket", ".fs": "fsharp", ".fsx": "fsharp", ".sol": "solidity",
    ".tfvars": "hcl", ".hcl": "hcl", ".mk": "make", ".bzl": "starlark", ".awk": "awk", ".vim": "vim",
}  # fmt: skip
LANGUAGES_BY_NAME = {"makefile": "make", "dockerfile": "dockerfile", "cmakelists.txt": "cmake", "justfile": "make"}
INTERPRETERS = {
    "python": "python", "sh": "bash", "bash": "bash", "dash": "bash", "zsh": "bash", "ksh": "bash", "perl": "perl",
    "ruby": "ruby", "node": "javascript", "deno": "typescript", "lua": "lua", "php": "php", "rscript": "r",
    "tclsh": "tcl", "fish": "fish", "pwsh": "powershell", "awk": "awk", "make": "make", "julia": "julia",
}  # fmt: skip


class Code(Format):
    """Source code, which is split along its syntax tree."""

    suffixes = frozenset(LANGUAGES)
    names = frozenset(LANGUAGES_BY_NAME)

    def read(self, file: OpenFile) -> Iterator[Document]:
        language = LANGUAGES_BY_NAME.get(file.name.lower()) or LANGUAGES[suffix_of(file.name)]
        yield code_document(file, decode(file.stream.read()), language)


def code_document(file: OpenFile, text: str, language: str) -> Document:
    """The document of a source file; raises GeneratedError for one that a program has written."""
    if not file.is_wanted:
        if len(text) > MINIFIED * (text.count("\n") + 1):
            raise GeneratedError("minified or generated code")
        check_written(text)
    return Document(file.path, file.path, file.name, text, "code", language=language, has_lines=True)


def check_written(text: str) -> None:
    """Raise GeneratedError if one of the first lines says that a program has written the text."""
    for number, line in enumerate(text[:FIRST_CHARACTERS].split("\n")[:FIRST_LINES], start=1):
        if _GENERATED.search(line):
            said = " ".join(line.split())[:SHOWN_CHARACTERS]
            raise GeneratedError(f"generated code, as line {number} says: {said}")


def language_of_script(text: str) -> str | None:
    """The language of the interpreter that the first line names after `#!`, or None."""
    if not text.startswith("#!"):
        return None
    words = text[2:200].partition("\n")[0].split()
    commands = [word for word in words if not word.startswith("-") and "=" not in word]
    programs = [PurePath(word).name.lower().rstrip("0123456789.") for word in commands[:2]]
    return next((INTERPRETERS[program] for program in programs if program in INTERPRETERS), None)
