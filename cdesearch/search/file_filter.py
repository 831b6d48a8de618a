"""Which texts a search covers: those of files of certain paths and types, and of certain times and fields.

`FileFilter` says which, and `FileConditions` what that means in one generation of an index, as an SQL condition.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from cdesearch.errors import NotIndexedError, QueryError
from cdesearch.search.documents import quoted, read_table
from cdesearch.search.field_filter import FieldCondition, IndexedFields
from cdesearch.search.path_filter import path_condition
from cdesearch.search.text_time import day_in_name

if TYPE_CHECKING:
    from cdesearch.store.index import Index

_FIRST, _END = -(10**10), 10**11  # seconds since 1970: in the years 1653 and 5138
_COMPRESSED = r"(\.(gz|bz2|xz|zst))?"  # files of these compressions have the type of what they contain
SUFFIX = re.compile(r"\w{1,20}")

# The suffixes of pages of the manual: the section, in most systems followed by the name of a library
_MANUAL = (
    "1 1m 1p 1perl 1posix 1ssl 1x 2 2type 3 3am 3c 3const 3curses 3head 3ncurses 3p 3perl 3pm 3posix 3readline 3ssl"
    " 3stap 3tcl 3tk 3type 3x 4 5 5ssl 6 7 7posix 7ssl 7stap 8 8c 8stap 9 n"
)

# The suffixes of the files of a type, by the name of the type.
TYPES = {
    "asciidoc": "adoc asc asciidoc",
    "asm": "asm s", "bat": "bat cmd", "c": "c h", "calendar": "ics", "clojure": "clj",
    "config": "cfg conf ini toml yaml yml", "contacts": "vcf",
    "cpp": "cc cpp cxx h hh hpp hxx", "cs": "cs", "css": "css less sass scss", "csv": "csv tsv",
    "cuda": "cu", "dart": "dart", "docx": "doc docx", "elixir": "ex exs", "epub": "epub fb2", "erlang": "erl",
    "excel": "xls xlsx", "fortran": "f f90 f95", "fsharp": "fs fsx", "go": "go", "graphql": "graphql", "haskell": "hs",
    "html": "htm html mht mhtml xhtml", "ini": "cfg ini",
    "java": "java", "js": "cjs js jsx mjs", "json": "json jsonl ndjson", "julia": "jl", "kotlin": "kt kts",
    "latex": "latex ltx tex", "lisp": "el lisp rkt scm", "lua": "lua", "mail": "eml emlx mbox msg",
    "man": _MANUAL, "markdown": "markdown md mdx", "md": "markdown md mdx", "nix": "nix",
    "notebook": "ipynb", "notes": "canvas enex", "ocaml": "ml", "office": "doc docx odp ods odt ppt pptx rtf xls xlsx",
    "org": "org", "parquet": "parquet", "pdf": "pdf", "perl": "pl pm", "php": "php", "powerpoint": "ppt pptx",
    "powershell": "ps1 psd1 psm1", "proto": "proto", "py": "py pyi", "r": "r rmd", "rst": "rest rst", "ruby": "rb",
    "rust": "rs", "scala": "scala",
    "sh": "bash fish ksh sh zsh", "sheet": "csv ods tsv xls xlsx", "slides": "odp ppt pptx", "sql": "sql",
    "subtitles": "ass srt ssa vtt", "svelte": "svelte", "svg": "svg", "swift": "swift", "terraform": "hcl tf tfvars",
    "tex": "bib latex ltx tex", "text": "log text txt", "toml": "toml", "ts": "cts mts ts tsx",
    "txt": "log text txt", "verilog": "sv v", "vhdl": "vhd vhdl",
    "vim": "vim", "vue": "vue", "xml": "xml", "yaml": "yaml yml", "zig": "zig",
}  # fmt: skip

# Further names of types: of languages whose suffix names the type, and of programs.
OTHER_NAMES = {
    "assembly": "asm", "batch": "bat", "c#": "cs", "c++": "cpp", "csharp": "cs", "email": "mail", "f#": "fsharp",
    "golang": "go", "javascript": "js", "jupyter": "notebook", "protobuf": "proto", "python": "py",
    "restructuredtext": "rst", "shell": "sh", "typescript": "ts", "word": "docx",
}  # fmt: skip

_SUFFIXES = frozenset(suffix for suffixes in TYPES.values() for suffix in suffixes.split())

# The interpreters of scripts, which often have no suffix, by the suffix of their language.
INTERPRETERS = {
    "awk": "awk gawk mawk", "fish": "fish", "jl": "julia", "js": "node", "lua": "lua luajit", "php": "php",
    "pl": "perl", "ps1": "pwsh", "py": "ipython pypy python", "r": "rscript", "rb": "jruby ruby",
    "sh": "ash bash dash ksh sh zsh", "tcl": "expect tclsh wish", "ts": "bun deno ts-node tsx",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Which texts a search covers. Without a restriction, it covers those of all files."""

    paths: tuple[str, ...] | None = None  # the path must match one of these globs; None allows every path
    suffixes: tuple[str, ...] | None = None  # the name must end with one of these, such as "py"; None allows every name
    since: int | None = None  # only texts from then or later, in seconds since 1970
    before: int | None = None  # only texts from before then
    fields: tuple[FieldCondition, ...] = ()  # only texts of which all of these hold
    is_excluding: bool = False  # whether it allows all other files instead

    @property
    def is_empty(self) -> bool:
        return replace(self, is_excluding=False) == FileFilter()

    @property
    def script(self) -> re.Pattern[str] | None:
        """A pattern that matches the text of the first chunk of a script of these types; None if there are none."""
        programs = [program for suffix in self.suffixes or () for program in INTERPRETERS.get(suffix, "").split()]
        if not programs:
            return None
        # The text begins with the name of the file.
        return re.compile(rf"[^\n]*\n#!([^\n]*[/ ])?({'|'.join(programs)})[0-9.]*(\s|$)", re.IGNORECASE)

    def conditions(self, scripts: Sequence[str] = ()) -> Iterator[str]:
        """Yield the SQL conditions on the column `path` for `paths` and `suffixes`; raises QueryError.

        `scripts` are the paths of further files of these types, whose names have no suffix.
        """
        if self.paths is not None:
            yield path_condition(*self.paths)
        if self.suffixes is not None:
            has_suffix = rf"regexp_like(path, '(?i)\.({'|'.join(self.suffixes)}){_COMPRESSED}$')"
            yield f"{has_suffix} OR path IN ({', '.join(map(quoted, scripts))})" if scripts else has_suffix


def all_of(conditions: Sequence[str | None]) -> str | None:
    """The SQL condition that all of several are true, of which None is true."""
    return " AND ".join(f"({one})" for one in conditions if one is not None) or None


WITHOUT_SUFFIX = "regexp_like(path, '(^|/)[^./]+$')"  # a condition as those of `FileFilter`


def suffixes_of(types: tuple[str, ...]) -> tuple[str, ...]:
    """The suffixes of the named types of files; raises QueryError for an unknown type.

    A suffix of a type is a type as well, such as `xlsx` of `sheet`. A name that begins with a dot is any suffix alone.
    """
    known = tuple(OTHER_NAMES.get(one, one) for one in types)
    for one in known:
        if one[:1] == "." and not SUFFIX.fullmatch(one[1:]):
            raise QueryError(f"{one:.20} is not the end of a file name.", "Use letters and digits, such as .py.")
        if one[:1] != "." and one not in TYPES and one not in _SUFFIXES:
            from difflib import get_close_matches

            near = " or ".join(get_close_matches(one, [*TYPES, *OTHER_NAMES]))
            asked = f"Did you mean {near}? " if near else ""
            raise QueryError(f"There is no file type {one:.40}.", f"{asked}The types are {', '.join(TYPES)}.")
    return tuple(dict.fromkeys(end for one in known for end in TYPES.get(one, one.removeprefix(".")).split()))


class FileConditions:
    """The conditions for filters in one generation. The times of its files are read once."""

    def __init__(self, index: "Index") -> None:
        self._index = index
        self._fields = IndexedFields(index)
        self._known_scripts: dict[tuple[str, ...] | None, list[str]] = {}

    def of(self, filters: Sequence[FileFilter]) -> str | None:
        """The condition for several filters; None if they allow every file. Raises QueryError and IndexStateError."""
        return all_of([self._of(one) for one in filters])

    def _of(self, files: FileFilter) -> str | None:
        if files.suffixes not in self._known_scripts:
            self._known_scripts[files.suffixes] = self._scripts(files)
        conditions = [*files.conditions(self._known_scripts[files.suffixes])]
        conditions += map(self._fields.sql, files.fields)
        if (files.since, files.before) != (None, None):
            conditions.append(self._in_time(files.since, files.before))
        condition = all_of(conditions)
        return f"NOT ({condition})" if files.is_excluding else condition

    def has_file(self, filters: Sequence[FileFilter]) -> bool:
        """Whether the filters allow any indexed file; raises QueryError and IndexStateError."""
        try:
            condition = self.of(filters)
        except NotIndexedError:  # a field that only another index has
            return False
        query = self._index.async_chunks.query().where(condition or "true").select(["path"]).limit(1)
        return bool(read_table(self._index, query).num_rows)

    def _scripts(self, files: FileFilter) -> list[str]:
        """The paths of the scripts that a filter of types allows because of their first lines."""
        if files.script is None:
            return []
        chunks = self._index.async_chunks
        found = read_table(self._index, chunks.query().where(WITHOUT_SUFFIX).select(["path"]).with_row_id())
        if not found.num_rows:
            return []
        # A condition on the text would read the texts of all chunks.
        texts = read_table(self._index, chunks.take_row_ids(found["_rowid"].to_pylist()).select(["path", "text"]))
        return sorted({row["path"] for row in texts.to_pylist() if files.script.match(row["text"])})

    def _in_time(self, since: int | None, before: int | None) -> str:
        """The condition for the texts from a time or later, and from before a time.

        Of texts without a field for it, the shorter list of paths is used: that of their files, or of all others.
        """
        from datetime import date

        first, end = (_FIRST if since is None else since), (_END if before is None else before)
        days = [date.fromtimestamp(min(max(_FIRST, time), _END)).isoformat() for time in (first, end)]
        inside, outside = list[str](), list[str]()
        for path, mtime_ns in self.modified.items():
            day = self._named_days.get(path)
            is_inside = days[0] <= day < days[1] if day else first * 10**9 <= mtime_ns < end * 10**9
            (inside if is_inside else outside).append(path)
        is_short = len(inside) <= len(outside)
        paths = ", ".join(map(quoted, inside if is_short else outside))
        by_file = f"path {'' if is_short else 'NOT '}IN ({paths})" if paths else str(not is_short).lower()
        return self._fields.sql_of_days(lambda day: days[0] <= day < days[1], by_file)

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        """The labels in the column `fields` of every document that has any, by its id."""
        query = self._index.async_chunks.query().where("array_length(fields) > 0").select(["document_id", "fields"])
        found = read_table(self._index, query)
        return dict(zip(found["document_id"].to_pylist(), found["fields"].to_pylist(), strict=True))

    @cached_property
    def _named_days(self) -> dict[str, str]:
        return {path: day for path in self.modified if (day := day_in_name(path)) is not None}

    @cached_property
    def modified(self) -> dict[str, int]:
        """When every indexed file, or its archive, was modified, in nanoseconds since 1970, by its path."""
        with self._index.checks.reading_tables():
            query = self._index.documents.search().select(["path", "mtime_ns"]).limit(self._index.manifest.n_documents)
            files = query.to_arrow().group_by("path").aggregate([("mtime_ns", "max")])
        return dict(zip(files["path"].to_pylist(), files["mtime_ns_max"].to_pylist(), strict=True))
