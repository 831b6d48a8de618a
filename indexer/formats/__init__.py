"""What kinds of file are there? One table from suffix to format."""

from pathlib import PurePath

MARKDOWN = {".md", ".markdown", ".mdx", ".rmd", ".qmd"}
RST = {".rst"}
TEXT = {
    ".txt", ".text", ".org", ".adoc", ".asciidoc", ".tex", ".log", ".srt", ".vtt", ".bib", ".po", ".conf",
    ".properties", ".textile", ".pod", ".wiki",
}  # fmt: skip
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
    ".cfg": "ini", ".ps1": "powershell", ".psm1": "powershell", ".psd1": "powershell", ".bat": "batch", ".cmd": "batch",
    ".svelte": "svelte", ".vb": "vb", ".gradle": "groovy", ".groovy": "groovy", ".kts": "kotlin", ".cjs": "javascript",
    ".mts": "typescript", ".cts": "typescript", ".fish": "fish", ".ksh": "bash", ".less": "scss", ".sass": "scss",
    ".hxx": "cpp", ".cu": "cuda", ".mm": "objc", ".f": "fortran", ".f95": "fortran", ".pas": "pascal", ".pm": "perl",
    ".tcl": "tcl", ".asm": "asm", ".s": "asm", ".v": "verilog", ".sv": "verilog", ".vhd": "vhdl", ".vhdl": "vhdl",
    ".lisp": "commonlisp", ".scm": "scheme", ".rkt": "racket", ".fs": "fsharp", ".fsx": "fsharp", ".sol": "solidity",
    ".tfvars": "hcl", ".hcl": "hcl", ".mk": "make", ".bzl": "starlark", ".awk": "awk", ".vim": "vim",
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
KNOWN = frozenset(MARKDOWN | RST | TEXT | HTML | RECORDS | CODE.keys() | {PDF, DOCX, NOTEBOOK})
# What has no text to search for, and belongs in any folder: leaving it out is no loss that a person must be told of.
WITHOUT_TEXT = {
    "image": ".png .jpg .jpeg .gif .bmp .ico .icns .webp .avif .heic .heif .tif .tiff .svg .psd .xcf .raw .cr2 .nef",
    "sound": ".mp3 .wav .ogg .oga .opus .flac .aac .m4a .wma .aiff .mid .midi",
    "video": ".mp4 .m4v .mkv .mov .avi .webm .wmv .flv .mpg .mpeg .ogv",
    "font": ".ttf .otf .woff .woff2 .eot .pfb",
    "compiled code": ".pyc .pyo .pyd .o .obj .a .lib .so .dll .dylib .exe .class .wasm .elc .mo .map",
}
NO_TEXT = {suffix: kind for kind, suffixes in WITHOUT_TEXT.items() for suffix in suffixes.split()}
UNKNOWN_FORMAT = "unknown format"
INTERPRETERS = {
    "python": "python", "sh": "bash", "bash": "bash", "dash": "bash", "zsh": "bash", "ksh": "bash", "perl": "perl",
    "ruby": "ruby", "node": "javascript", "deno": "typescript", "lua": "lua", "php": "php", "rscript": "r",
    "tclsh": "tcl", "fish": "fish", "pwsh": "powershell", "awk": "awk", "make": "make", "julia": "julia",
}  # fmt: skip


def suffix_of(name: str) -> str:
    """Lower-case suffix; `.jsonl.gz` counts as one, and a number, as in `Apache-2.0` or `man.1`, as none."""
    name = name.lower()
    suffix = ".jsonl.gz" if name.endswith(".jsonl.gz") else PurePath(name).suffix
    return "" if suffix[1:].isdigit() else suffix


def language_of(name: str, text: str = "") -> str | None:
    """The tree-sitter language of a source file, or None; of a script without suffix, by its first line."""
    language = NAMES.get(name.lower()) or CODE.get(suffix_of(name))
    if language is None and text.startswith("#!") and not suffix_of(name):
        words = text[2:200].partition("\n")[0].split()
        commands = [word for word in words if not word.startswith("-") and "=" not in word]
        programs = [PurePath(word).name.lower().rstrip("0123456789.") for word in commands[:2]]
        language = next((INTERPRETERS[program] for program in programs if program in INTERPRETERS), None)
    return language


def is_known(name: str) -> bool:
    """Whether a file of this name is one we can read; what has no suffix has to be looked into."""
    return suffix_of(name) in KNOWN or name.lower() in NAMES or name.lower() in PLAIN_NAMES
