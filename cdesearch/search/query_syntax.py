"""The operators in the text of a query: `-word`, `-"a phrase"`, `path:GLOB`, `type:NAME`, `-path:GLOB`, `-type:NAME`.

`AND NOT word` is the same as `-word`. An operator begins a word, and nothing within quotation marks is one. A single
letter after a hyphen, and two hyphens, are options such as `-v` and `--dry-run`, which are searched for. So are `-a=b`
and, in a text that begins with the name of a program, two or three letters, or right after the name a word with a
capital or digit: `tar -xzf`, `gcc -Wall`. A text of more than MAX_WORDS words was pasted: its hyphens are dashes,
options and marks of lists, so it has no operators.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from cdesearch.search.documents import quoted
from cdesearch.words.scripts import NO_EDGE, NO_END, UNSPACED

MAX_WORDS = 40
# The quotation marks of several languages. A phrase contains none of its own, so that unclosed ones take no time.
QUOTED = (
    r"\"[^\S\n]*[^\s\"][^\"\n]*\"|„[^„“”\n]+[“”]|“[^\S\n]*[^\s“”][^“”\n]*”|”[^“”\n]+”|«[^«»\n]+»|»[^«»\n]+«"
    r"|「[^「」\n]+」|『[^『』\n]+』|\uff02[^\uff02\n]+\uff02"
)
QUOTATION_MARKS = '"„“”«»「」『』\uff02'
_TOKEN = re.compile(
    rf"""
      {QUOTED}
    | (?<![\S\n]) (?P<minus>-?) (?P<name>path|type): (?P<value>{QUOTED}|[^\s:"“][^\s"“”]*)
    | (?<![\S\n]) - (?P<excluded>{QUOTED}|(?:[^\W\d_]|\d+[.,:-]\d)[^\s"“”]*[^\s"“”.,;:!?)]) [.,;:!?)]*
    | (?<![\S\n]) AND [^\S\n]+ NOT [^\S\n]+ (?P<negated>{QUOTED}|\w[^\s"“”]*[^\s"“”.,;:!?)]) [.,;:!?)]*
    """,
    re.VERBOSE,
)
_PROGRAMS = """
    7z ansible apt apt-get aws awk bash bun cargo cat cd chmod chown clang cmake composer conda cp curl cut deno df diff
    dig dnf docker dotnet du echo ffmpeg find gcc gh git go gradle grep gunzip gzip head helm java javac journalctl
    kubectl less ln ls make mkdir mv mvn mysql nc netstat node npm npx openssl perl php ping pip pip3 pnpm podman poetry
    ps psql pytest python python3 return rg rm rsync ruby rustc scp sed sort ssh systemctl tail tar terraform uv wget
    xargs yarn zip unzip
"""  # `return` has options, too: -EINVAL
# Programs whose names are also English words: only what follows the name directly is an option
_ENGLISH = ("cat", "cut", "echo", "find", "go", "head", "less", "make", "python", "return", "ruby", "sort", "tail")
_COMMAND = re.compile(rf"\s*(?:[$%#>] )?(?:sudo )?(?P<program>\.?/\S+|{'|'.join(_PROGRAMS.split())})(?=\s)(?:\s+-\S+)*")


@dataclass(frozen=True, slots=True)
class Query:
    """What the text of a query asks for."""

    words: str  # the text without its operators
    excluded: tuple[str, ...] = ()  # words and phrases that no hit contains
    path: tuple[str, ...] = ()  # globs of which the path of a file must match one; none allows every path
    excluded_path: tuple[str, ...] = ()
    type: tuple[str, ...] = ()
    excluded_type: tuple[str, ...] = ()

    @property
    def filters(self) -> tuple[str, ...]:
        """The operators that restrict the files, as they can be typed."""
        kinds = {"path:": self.path, "-path:": self.excluded_path, "type:": self.type, "-type:": self.excluded_type}
        return tuple(f"{name}{value}" for name, values in kinds.items() for value in values)

    @property
    def condition(self) -> str | None:
        """The SQL condition on the column `text` for chunks without the excluded words; None without such words."""
        if not self.excluded:
            return None
        return f"NOT regexp_like(text, {quoted('(?i)' + '|'.join(map(_whole, self.excluded)))})"

    @property
    def exclusion(self) -> str | None:
        """The sentence that tells which words leave out passages; None without such words."""
        words = ", ".join(f'"{word}"' for word in self.excluded)
        return f'Passages with {words} are left out. Quote an option to search for it: "-x".' if words else None


@lru_cache(maxsize=256)
def parse_query(text: str) -> Query:
    """Separate the operators of a query from its words."""
    if len(text.split()) > MAX_WORDS:
        return Query(text)
    found: dict[str, dict[str, None]] = {}  # dictionaries keep the order
    command = _COMMAND.match(text)
    has_lower = any(map(str.islower, text))  # else AND NOT are words in capitals like the others

    def take(token: re.Match[str]) -> str:
        excluded = token["excluded"] or (token["negated"] if has_lower else None)
        value = excluded or token["value"]
        if not value or (token["excluded"] and _is_option(token, command)):
            return token[0]
        kind = "excluded" if excluded else f"{'excluded_' if token['minus'] else ''}{token['name']}"
        found.setdefault(kind, {})[" ".join(value.strip(QUOTATION_MARKS).split())] = None
        return ""

    words = _TOKEN.sub(take, text)
    return Query(words.strip() if found else text, **{kind: tuple(values) for kind, values in found.items()})


def _is_option(token: re.Match[str], command: re.Match[str] | None) -> bool:
    word = token["excluded"]
    if command is None or word[0] in QUOTATION_MARKS:
        return re.match(r"[\w.:-]+=", word) is not None
    may_be_long = token.start() < command.end()
    may_be_short = may_be_long or command["program"] not in _ENGLISH
    kinds = r"[\w.:-]+=.*" + "|[A-Za-z]{2,3}" * may_be_short + r"|.*[A-Z\d].*" * may_be_long
    return re.fullmatch(kinds, word) is not None


def _whole(phrase: str) -> str:
    """The regular expression of Rust's regex library for a whole phrase, with any white space between its words."""
    words = r"\s+".join(map(re.escape, phrase.split()))
    # Scripts without blanks have no ends of words.
    edges = zip((phrase[0], phrase[-1]), (NO_EDGE, NO_END), strict=True)
    first, last = (rf"(?:\b|[{no}])" if re.match(r"\w", one) and not UNSPACED.match(one) else "" for one, no in edges)
    return f"{first}{words}{last}"
