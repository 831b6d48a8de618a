"""The options of a query: one table for the command line, configuration files, the HTTP API and the tools of agents.

To add an option that changes what is found, add a row here and a field of the same name to `SearchRequest`; for an
option that changes what a command prints, the field is in `QueryOptions`. Only the standard library is used, because
every command imports this.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from typing import Any, Literal, TypeVar, get_args

Mode = Literal["hybrid", "dense", "text"]
Format = Literal["text", "json", "jsonl", "grep", "llm"]
Function = TypeVar("Function", bound=Callable[..., Any])
Kind = Literal["number", "share", "text", "choice", "flag", "place", "model"]
MAX_CONTEXT = 50  # lines; a server returns at most so many chunks on each side


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a query, with all that its surfaces need to read it, to check it and to explain it."""

    field: str  # of `SearchRequest` or `QueryOptions`, and the name of the parameter over HTTP and for agents
    flags: str  # on the command line, such as "-k", or "--group/--no-group"
    kind: Kind
    help: str
    more: str = ""  # further sentences of the help on the command line
    default: Any = None
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    most_remote: int | None = None  # the limit over HTTP and for agents: of a number, or of the characters of a text
    metavar: str | None = None
    is_repeated: bool = False
    is_search: bool = False  # whether it changes what is found; the others change what the command line prints
    stands_for: tuple[str, str] | None = None  # the field and its value for which a flag is short

    @property
    def names(self) -> tuple[str, ...]:
        """The names on the command line, of which the second one revokes the first."""
        return tuple(self.flags.split("/"))

    @property
    def key(self) -> str:
        return self.names[0].lstrip("-")

    def texts_of(self, value: Any) -> list[str]:
        """A value of the field as the values of a query parameter."""
        values = value if isinstance(value, tuple) else () if value is None else (value,)
        return [str(one) for one in values]


OPTIONS = (
    Option(
        "k", "-k", "number", "Number of hits.", "Default: 5 on a terminal, otherwise 10.",
        least=1, most_remote=100, is_search=True,
    ),
    Option(
        "mode", "--mode", "choice",
        "hybrid ranks by meaning and by words, dense by meaning only, and text by words only.",
        default="hybrid", choices=get_args(Mode), is_search=True,
    ),
    Option(
        "path", "--path", "text",
        "Search only files that match this path, folder or glob, such as 'docs/**/*.{md,rst}'.",
        "It may be relative to the indexed folder (as in --json), relative to the working directory (as in hits), or"
        " absolute. Repeat it to allow several.",
        most_remote=4_000, metavar="GLOB", is_repeated=True, is_search=True,
    ),
    Option(
        "type", "--type", "text", "Search only files of this type, such as py, md or pdf.",
        "Repeat it to allow several.",
        most_remote=40, metavar="NAME", is_repeated=True, is_search=True,
    ),
    Option(
        "since", "--since", "text", "Search only texts from then or later: 12h, 7d or 2w ago, or a date.",
        "The time of a text is its field `date`, or else the date in the name of its file, or else when that was"
        " modified.",
        most_remote=40, metavar="TIME", is_search=True,
    ),
    Option(
        "before", "--before", "text", "Search only texts from before then: 12h, 7d or 2w ago, or a date.",
        "The time of a text is as for --since.",
        most_remote=40, metavar="TIME", is_search=True,
    ),
    Option(
        "filter", "--filter", "text",
        "Search only texts whose fields meet these conditions: 'status=open and date>=2026-01-01 and tag:infra'.",
        "The operators are = != >= <= > < and : for a word of a value. Fields are front matter, columns of records,"
        " headers of mail and properties of documents; `cdesearch status --fields` lists them.",
        most_remote=1_000, metavar="CONDITIONS", is_search=True,
    ),
    Option(
        "min_confidence", "--min-confidence", "share",
        "Leave out hits whose confidence, the probability that they are relevant, is less than this, such as 0.3.",
        "30% is the same.", default=0.0, metavar="P", is_search=True,
    ),
    Option(
        "regex", "--regex", "text",
        "Find only passages in which a line matches this regular expression, as in grep. Without words to search for,"
        " they are in the order of their paths.",
        most_remote=1_000, metavar="PATTERN", is_search=True,
    ),
    Option(
        "index", "--index", "place",
        "Index folder, the folder that contains it, or s3://BUCKET/PREFIX. Default: the nearest index upward,"
        " or else those of `cdesearch indexes`.",
        "Repeat it to search several indexes as one.", metavar="<path>", is_repeated=True,
    ),
    Option("all", "--all", "flag", "Search the whole index, and not only the working directory if that is below it."),
    Option(
        "model", "--model", "model",
        "The model that built the index, if it is not the default model; or the URL of its server.", metavar="MODEL",
    ),
    Option("full", "--full", "flag", "Show whole chunks."),
    Option(
        "context", "-C", "number", "Lines of context around each passage.", default=0, least=0, most=MAX_CONTEXT
    ),
    Option("json", "--json", "flag", "Print one JSON object.", stands_for=("format", "json")),
    Option(
        "format", "--format", "choice",
        "json is the same as --json. jsonl prints one JSON object for each hit. grep prints the lines that contain most"
        " words of the query, a phrase of it or the pattern, as path:line:text, with line 1 if the format has no lines."
        " llm prints compact passages for a language model.  [default: text]",
        choices=get_args(Format),
    ),
    Option("group", "--group/--no-group", "flag", "Group the hits of one file.", "Default: only on a terminal."),
    Option("no_pager", "--no-pager", "flag", "Use no pager ($PAGER or less) for long output."),
    Option("open", "--open", "flag", "Open the best hit, as `cdesearch open` does, instead of printing hits."),
    Option(
        "yes", "--yes", "flag", "Without an index, index the working directory first, and ask no question about it."
    ),
    Option(
        "update", "--update/--no-update", "flag",
        "Whether the index is updated if files have changed: before the answer if that is quick. Default: --update.",
    ),
    Option(
        "serve", "--serve/--no-serve", "flag",
        "Whether a server in the background keeps the model loaded until 15 minutes after the last query, so that"
        " answers come several times as fast.",
        "It listens on no port. Default: as you answer a question on a terminal.",
    ),
)  # fmt: skip
PARAMETERS = tuple(option for option in OPTIONS if option.is_search)
FILTERS = tuple(one for one in PARAMETERS if one.field in ("path", "type", "since", "before", "filter"))
# The names of options with a value, and of those without. They may precede the words of a query.
VALUED = {name: option for option in OPTIONS for name in option.names if option.kind != "flag"}
FLAGS = {name: option for option in OPTIONS for name in option.names if option.kind == "flag"}
# Options of which a configuration file or the command line sets only one, by their keys.
EXCLUSIVE = {
    pair[side]: pair[1 - side]
    for option in OPTIONS
    if option.stands_for is not None
    for pair in ((option.key, option.stands_for[0]),)
    for side in (0, 1)
}


def with_options(function: Function, parameters: Iterable[Parameter]) -> Function:
    """A function that libraries take for one with these parameters instead of its `**` parameter.

    They follow its own parameters without a default.
    """
    before = signature(function)
    own = [one for one in before.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    first = [one for one in own if one.default is Parameter.empty]
    rest = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own if one not in first]
    after = Signature([*first, *parameters, *rest], return_annotation=before.return_annotation)
    function.__signature__ = after  # type: ignore[attr-defined] # which `signature` returns
    return function
