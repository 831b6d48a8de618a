"""What kinds of file are there? One table from suffix to format."""

from pathlib import PurePath

MARKDOWN = {".md", ".markdown", ".mdx"}
RST = {".rst"}
TEXT = {".txt", ".text", ".org", ".adoc", ".asciidoc", ".tex", ".log"}
HTML = {".html", ".htm", ".xhtml"}
RECORDS = {".jsonl", ".ndjson", ".jsonl.gz", ".parquet", ".csv", ".tsv"}
CODE = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".tsx": "tsx", ".java": "java", ".go": "go", ".rs": "rust", ".c": "c", ".h": "c",
    ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp", ".cs": "csharp", ".rb": "ruby",
    ".php": "php", ".swift": "swift", ".kt": "kotlin", ".scala": "scala", ".sh": "bash", ".bash": "bash",
    ".zsh": "bash", ".lua": "lua", ".r": "r", ".jl": "julia", ".pl": "perl", ".sql": "sql", ".toml": "toml",
    ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".xml": "xml", ".css": "css", ".scss": "scss",
    ".hs": "haskell", ".ml": "ocaml", ".ex": "elixir", ".exs": "elixir", ".erl": "erlang", ".clj": "clojure",
    ".zig": "zig", ".dart": "dart", ".tf": "hcl", ".proto": "proto", ".graphql": "graphql", ".vue": "vue",
    ".m": "matlab", ".f90": "fortran", ".el": "elisp", ".nix": "nix", ".cmake": "cmake", ".ini": "ini",
    ".cfg": "ini",
}  # fmt: skip
NAMES = {"makefile": "make", "dockerfile": "dockerfile", "cmakelists.txt": "cmake", "justfile": "make"}
PLAIN_NAMES = {
    "readme",
    "license",
    "copying",
    "notice",
    "changelog",
    "authors",
    "contributing",
    "todo",
    "news",
}
PDF, DOCX, NOTEBOOK = ".pdf", ".docx", ".ipynb"


def suffix_of(name: str) -> str:
    """Lower-case suffix; `.jsonl.gz` counts as one."""
    name = name.lower()
    return ".jsonl.gz" if name.endswith(".jsonl.gz") else PurePath(name).suffix


def language_of(name: str) -> str | None:
    """The tree-sitter language of a source file, or None."""
    return NAMES.get(name.lower()) or CODE.get(suffix_of(name))


def is_known(path: PurePath) -> bool:
    """Whether a file of this name is one we can read."""
    suffix = suffix_of(path.name)
    known = MARKDOWN | RST | TEXT | HTML | RECORDS | {PDF, DOCX, NOTEBOOK}
    return suffix in known or language_of(path.name) is not None or path.name.lower() in PLAIN_NAMES
