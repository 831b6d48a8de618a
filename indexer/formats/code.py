"""Read source code, by the language of its suffix, name or interpreter, and plain text."""

import re
from collections.abc import Iterator
from pathlib import PurePath, PurePosixPath

from indexer.formats.encoding import decode, without_surrogates
from indexer.formats.format import Document, Format, GeneratedError, Heading, OpenFile, suffix_of
from indexer.formats.manual import SECTION, is_manual_page, manual_page

MINIFIED = 500  # characters per line; people write code in shorter lines
FIRST_LINES, FIRST_CHARACTERS, SHOWN_CHARACTERS = 6, 2000, 80
_JAVA_ESCAPE = re.compile(r"\\u(?!00[0-7])([0-9A-Fa-f]{4})")  # of a letter in a resource bundle
# A comment that a generator writes, and not one about what a program generates or what a person may edit.
_AUTO = r"auto(?:matically)?[- ]?generated\b"
_GENERATED = re.compile(
    r"^\s*(?:#|//|/?\*|--|;|%|<!--|\(\*|\|\*|\"\s|'\s|rem\b)(?:.{0,60}(?:@generated\b|\b(?-i:DO NOT (?:EDIT|MODIFY))\b"
    r"|\bdo not (?:edit|modify)(?: (?:this|the|it|file|code|by hand|manually|directly))*\s*(?:[-.,;:!*]|$)"
    rf"|\b(?:this|file|code|script|module|header|class|source) (?:is|was|has been) (?:an? )?{_AUTO})"
    rf"|\W{{0,9}}(?:(?:warning|note|file|code)\W+)?{_AUTO}"
    r"(?=\W*$|[.,:;!]| (?:by|from|with|using|on|at|file|code|header)\b))"
    r"|^\W{1,9}(?:(?:this )?(?:file|code)(?: (?:is|was|has been))? )?(?:automatically )?"
    r"generated (?!by hand)(?:by|from|with|using|automatically)\b",
    re.IGNORECASE,
)
_PRIVATE_KEY = re.compile(
    r"\s*(?:[\[{].*?\"(?:private_?key|key)\"\s*:\s*\")?"  # also of an account, in JSON; no sentence
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|\s)(?!\s*[a-z]{1,15}[,;:]? [a-z])",
    re.DOTALL | re.IGNORECASE,
)


def _by_language(names: dict[str, str]) -> dict[str, str]:
    """The language of each name, from the names of each language. Languages are named as tree-sitter grammars are."""
    return {name: language for language, several in names.items() for name in several.split()}


LANGUAGES = _by_language({
    "python": ".py .pyi .pyx .pxd .pyw", "javascript": ".js .mjs .jsx .cjs .jsm", "typescript": ".ts .mts .cts",
    "tsx": ".tsx", "java": ".java", "go": ".go", "rust": ".rs", "c": ".c .h",
    "cpp": ".cc .cpp .cxx .hpp .hh .hxx .ipp .inl .tpp", "csharp": ".cs .csx .cshtml", "ruby": ".rb .rake .gemspec",
    "php": ".php .phtml", "swift": ".swift", "kotlin": ".kt .kts", "scala": ".scala .sbt",
    "bash": ".sh .bash .zsh .ksh .ebuild .eclass", "lua": ".lua", "r": ".r", "julia": ".jl", "perl": ".pl .pm",
    "sql": ".sql .psql .ddl .dml .pks .pkb", "css": ".css", "scss": ".scss .less .sass", "haskell": ".hs",
    "ocaml": ".ml", "elixir": ".ex .exs", "erlang": ".erl .hrl", "clojure": ".clj .cljs .cljc .edn", "zig": ".zig",
    "dart": ".dart", "hcl": ".tf .tfvars .hcl", "proto": ".proto", "graphql": ".graphql", "vue": ".vue", "matlab": ".m",
    "fortran": ".f90 .f .f95 .f03 .f08 .for", "elisp": ".el", "nix": ".nix", "cmake": ".cmake",
    "powershell": ".ps1 .psm1 .psd1", "batch": ".bat .cmd", "svelte": ".svelte", "vb": ".vb",
    "groovy": ".gradle .groovy", "fish": ".fish", "cuda": ".cu", "objc": ".mm", "pascal": ".pas", "tcl": ".tcl",
    "asm": ".asm .s", "verilog": ".v .sv .svh", "vhdl": ".vhd .vhdl", "commonlisp": ".lisp .lsp", "scheme": ".scm",
    "racket": ".rkt", "fsharp": ".fs .fsx", "solidity": ".sol", "make": ".mk .mak .am", "starlark": ".bzl",
    "awk": ".awk", "vim": ".vim", "ada": ".adb .ads", "agda": ".agda", "arduino": ".ino", "astro": ".astro",
    "beancount": ".bean .beancount", "bicep": ".bicep", "bitbake": ".bb .bbappend .bbclass", "capnp": ".capnp",
    "cobol": ".cob .cbl", "d": ".d", "dtd": ".dtd", "elm": ".elm", "embeddedtemplate": ".erb .ejs", "fennel": ".fnl",
    "fsharp_signature": ".fsi", "gdscript": ".gd", "gleam": ".gleam", "glsl": ".glsl .vert .frag", "gn": ".gn .gni",
    "haxe": ".hx", "heex": ".heex", "hlsl": ".hlsl", "jsonnet": ".jsonnet .libsonnet", "kdl": ".kdl",
    "linkerscript": ".ld .lds", "llvm": ".ll", "luau": ".luau", "ocaml_interface": ".mli", "nim": ".nim .nims",
    "ninja": ".ninja", "odin": ".odin", "pony": ".pony", "prisma": ".prisma", "puppet": ".pp", "purescript": ".purs",
    "qmljs": ".qml", "rego": ".rego", "ron": ".ron", "smali": ".smali", "smithy": ".smithy", "sparql": ".rq .sparql",
    "squirrel": ".nut", "tablegen": ".td", "thrift": ".thrift", "twig": ".twig", "typst": ".typ", "wast": ".wast",
    "wat": ".wat", "wgsl": ".wgsl", "dockerfile": ".dockerfile",
})  # fmt: skip
LANGUAGES_BY_NAME = _by_language({
    "make": "makefile justfile gnumakefile", "dockerfile": "dockerfile containerfile", "cmake": "cmakelists.txt",
    "meson": "meson.build", "gn": "build.gn", "kconfig": "kconfig", "gomod": "go.mod",
    "ruby": "gemfile rakefile vagrantfile brewfile podfile", "groovy": "jenkinsfile", "starlark": "build.bazel",
    "python": "sconstruct sconscript", "erlang": "rebar.config", "bash": "configure.ac pkgbuild",
})  # fmt: skip
INTERPRETERS = _by_language({
    "python": "python pypy ipython", "bash": "sh bash dash zsh ksh ash busybox", "perl": "perl", "ruby": "ruby jruby",
    "javascript": "node", "typescript": "deno bun ts-node tsx", "lua": "lua luajit", "php": "php", "r": "rscript",
    "tcl": "tclsh wish expect", "awk": "gawk mawk awk", "elixir": "elixir", "erlang": "escript", "scheme": "guile",
    "racket": "racket", "haskell": "runghc runhaskell", "groovy": "groovy", "scala": "scala", "swift": "swift",
    "clojure": "clojure bb", "sql": "psql sqlite", "fish": "fish", "powershell": "pwsh", "make": "make",
    "julia": "julia",
})  # fmt: skip


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
    return Document.of(file, "", text, "code", language=language, headings=headings, has_lines=True)


def check_written_by_hand(file: OpenFile, text: str) -> None:
    """Raise GeneratedError if one of the first lines says that a program has written the text."""
    if file.is_wanted:
        return
    for number, line in enumerate(text[:FIRST_CHARACTERS].split("\n")[:FIRST_LINES], start=1):
        if _GENERATED.search(line):
            said = " ".join(line.split())[:SHOWN_CHARACTERS]
            raise GeneratedError(f"generated code, as line {number} says: {said}")


def check_no_private_key(file: OpenFile, text: str) -> None:
    """Raise GeneratedError for a private key, or for the JSON of an account with one."""
    if not file.is_wanted and _PRIVATE_KEY.match(text[:FIRST_CHARACTERS]):
        raise GeneratedError("private key")


def language_of_script(text: str) -> str | None:
    """The language of the interpreter that the first line names after `#!`, or None."""
    if not text.startswith("#!"):
        return None
    words = text[2:200].partition("\n")[0].split()
    commands = [word for word in words if not word.startswith("-") and "=" not in word]
    programs = [PurePath(word).name.lower().rstrip("0123456789.") for word in commands[:2]]
    return next((INTERPRETERS[program] for program in programs if program in INTERPRETERS), None)


class PlainText(Format):
    """Text whose structure is not parsed. A script without one of these suffixes is read as code."""

    suffixes = frozenset({
        ".txt", ".text", ".log", ".po", ".conf", ".properties", ".textile", ".pod", ".wiki", ".diff", ".patch", ".lrc",
        ".debian",  # README.Debian, NEWS.Debian and so on, in packages of Debian
    })  # fmt: skip
    names = frozenset({
        "readme", "license", "copying", "notice", "changelog", "authors", "contributing", "todo", "news",
        # lock files, which are read only if the user wants them
        "yarn.lock", "cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "pipfile.lock", "pixi.lock", "gemfile.lock",
        "composer.lock", "mix.lock", "pubspec.lock", "podfile.lock", "flake.lock", "go.sum", "go.work.sum",
        ".env", ".env.example", ".env.sample", ".env.template", ".env.local", ".env.development", ".env.production",
    })  # fmt: skip

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        if suffix_of(file.name) == ".properties":
            text = without_surrogates(_JAVA_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text))
        check_no_private_key(file, text)
        language = None if suffix_of(file.name) in self.suffixes else language_of_script(text)
        if SECTION.fullmatch(PurePosixPath(file.name).suffix) and is_manual_page(text):
            yield manual_page(file, text)
        elif language is not None:
            check_written_by_hand(file, text)
            yield code_document(file, text, language)
        else:
            yield Document.of(file, "", text, has_lines=True)
