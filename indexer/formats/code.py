"""Read source code: the language of each suffix, file name and interpreter."""

import re
from collections.abc import Iterator
from pathlib import PurePath

from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, Heading, OpenFile, suffix_of
from indexer.formats.unreadable import GeneratedError

MINIFIED = 500  # characters per line; people write code in shorter lines
FIRST_LINES, FIRST_CHARACTERS, SHOWN_CHARACTERS = 6, 2000, 80
# A comment that a generator writes. The word "generated" alone occurs in many programs.
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
    ".zsh": "bash", ".lua": "lua", ".r": "r", ".jl": "julia", ".pl": "perl", ".sql": "sql", ".css": "css",
    ".scss": "scss", ".hs": "haskell", ".ml": "ocaml", ".ex": "elixir", ".exs": "elixir", ".erl": "erlang",
    ".clj": "clojure", ".zig": "zig", ".dart": "dart", ".tf": "hcl", ".proto": "proto", ".graphql": "graphql",
    ".vue": "vue", ".m": "matlab", ".f90": "fortran", ".el": "elisp", ".nix": "nix", ".cmake": "cmake",
    ".ps1": "powershell", ".psm1": "powershell", ".psd1": "powershell", ".bat": "batch", ".cmd": "batch",
    ".svelte": "svelte", ".vb": "vb", ".gradle": "groovy", ".groovy": "groovy", ".kts": "kotlin",
    ".cjs": "javascript", ".mts": "typescript", ".cts": "typescript", ".fish": "fish", ".ksh": "bash",
    ".less": "scss", ".sass": "scss", ".hxx": "cpp", ".cu": "cuda", ".mm": "objc", ".f": "fortran",
    ".f95": "fortran", ".pas": "pascal", ".pm": "perl", ".tcl": "tcl", ".asm": "asm", ".s": "asm", ".v": "verilog",
    ".sv": "verilog", ".vhd": "vhdl", ".vhdl": "vhdl", ".lisp": "commonlisp", ".scm": "scheme", ".rkt": "racket",
    ".fs": "fsharp", ".fsx": "fsharp", ".sol": "solidity", ".tfvars": "hcl", ".hcl": "hcl", ".mk": "make",
    ".bzl": "starlark", ".awk": "awk", ".vim": "vim", ".adb": "ada", ".ads": "ada", ".agda": "agda",
    ".ino": "arduino", ".astro": "astro", ".bean": "beancount", ".beancount": "beancount", ".bicep": "bicep",
    ".bb": "bitbake", ".bbappend": "bitbake", ".bbclass": "bitbake", ".capnp": "capnp", ".cljs": "clojure",
    ".cljc": "clojure", ".edn": "clojure", ".cob": "cobol", ".cbl": "cobol", ".d": "d", ".dtd": "dtd",
    ".elm": "elm", ".erb": "embeddedtemplate", ".ejs": "embeddedtemplate", ".fnl": "fennel",
    ".fsi": "fsharp_signature", ".gd": "gdscript", ".gleam": "gleam", ".glsl": "glsl", ".vert": "glsl",
    ".frag": "glsl", ".gn": "gn", ".gni": "gn", ".hx": "haxe", ".heex": "heex", ".hlsl": "hlsl",
    ".jsonnet": "jsonnet", ".libsonnet": "jsonnet", ".kdl": "kdl", ".ld": "linkerscript", ".lds": "linkerscript",
    ".ll": "llvm", ".luau": "luau", ".mli": "ocaml_interface", ".nim": "nim", ".nims": "nim", ".ninja": "ninja",
    ".odin": "odin", ".pony": "pony", ".prisma": "prisma", ".pp": "puppet", ".purs": "purescript", ".pyx": "python",
    ".pxd": "python", ".pyw": "python", ".qml": "qmljs", ".rego": "rego", ".ron": "ron", ".smali": "smali",
    ".smithy": "smithy", ".rq": "sparql", ".sparql": "sparql", ".nut": "squirrel", ".td": "tablegen",
    ".thrift": "thrift", ".twig": "twig", ".typ": "typst", ".wast": "wast", ".wat": "wat", ".wgsl": "wgsl",
    ".hrl": "erlang", ".ipp": "cpp", ".inl": "cpp", ".tpp": "cpp", ".sbt": "scala", ".rake": "ruby",
    ".gemspec": "ruby", ".mak": "make", ".am": "make", ".psql": "sql", ".ddl": "sql", ".dml": "sql", ".pks": "sql",
    ".pkb": "sql", ".phtml": "php", ".csx": "csharp", ".cshtml": "csharp", ".lsp": "commonlisp", ".f03": "fortran",
    ".f08": "fortran", ".for": "fortran", ".svh": "verilog", ".dockerfile": "dockerfile", ".ebuild": "bash",
    ".eclass": "bash", ".jsm": "javascript",
}  # fmt: skip
LANGUAGES_BY_NAME = {
    "makefile": "make", "dockerfile": "dockerfile", "cmakelists.txt": "cmake", "justfile": "make",
    "gnumakefile": "make", "containerfile": "dockerfile", "meson.build": "meson", "build.gn": "gn",
    "kconfig": "kconfig", "go.mod": "gomod", "gemfile": "ruby", "rakefile": "ruby", "vagrantfile": "ruby",
    "brewfile": "ruby", "podfile": "ruby", "jenkinsfile": "groovy", "build.bazel": "starlark",
    "sconstruct": "python", "sconscript": "python", "rebar.config": "erlang", "configure.ac": "bash",
    "pkgbuild": "bash",
}  # fmt: skip
INTERPRETERS = {
    "python": "python", "sh": "bash", "bash": "bash", "dash": "bash", "zsh": "bash", "ksh": "bash", "perl": "perl",
    "ruby": "ruby", "node": "javascript", "deno": "typescript", "lua": "lua", "php": "php", "rscript": "r",
    "tclsh": "tcl", "wish": "tcl", "expect": "tcl", "bun": "typescript", "ts-node": "typescript", "tsx": "typescript",
    "pypy": "python", "ipython": "python", "jruby": "ruby", "luajit": "lua", "gawk": "awk", "mawk": "awk",
    "ash": "bash", "busybox": "bash", "elixir": "elixir", "escript": "erlang", "guile": "scheme", "racket": "racket",
    "runghc": "haskell", "runhaskell": "haskell", "groovy": "groovy", "scala": "scala", "swift": "swift",
    "clojure": "clojure", "bb": "clojure", "psql": "sql", "sqlite": "sql",
    "fish": "fish", "pwsh": "powershell", "awk": "awk", "make": "make", "julia": "julia",
}  # fmt: skip


class Code(Format):
    """Source code, which is split along its syntax tree."""

    suffixes = frozenset(LANGUAGES)
    names = frozenset(LANGUAGES_BY_NAME)

    def read(self, file: OpenFile) -> Iterator[Document]:
        language = LANGUAGES_BY_NAME.get(file.name.lower()) or LANGUAGES[suffix_of(file.name)]
        text = decode(file.stream.read())
        check_written_by_hand(file, text)
        yield code_document(file, text, language)


def code_document(file: OpenFile, text: str, language: str, headings: tuple[Heading, ...] = ()) -> Document:
    """The document of a file of code or settings; raises GeneratedError if its lines are too long for a person."""
    if not file.is_wanted and len(text) > MINIFIED * (text.count("\n") + 1):
        raise GeneratedError("minified or generated code")
    return Document(file.path, file.path, file.name, text, "code", language=language, headings=headings, has_lines=True)


def check_written_by_hand(file: OpenFile, text: str) -> None:
    """Raise GeneratedError if one of the first lines says that a program has written the text."""
    if file.is_wanted:
        return
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
