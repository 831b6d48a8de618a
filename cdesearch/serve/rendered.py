"""Render the chunks of a document as HTML: Markdown as text with lists and tables, and code with its syntax coloured.

Markdown may contain HTML, so what it becomes is sanitised: only the elements and attributes below remain.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html import escape
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urljoin, urlsplit

from cdesearch.search.readable import is_marked_up
from cdesearch.search.sheets import BAR, NO_NAME, cells_of, is_sheet
from cdesearch.serve.converted import SHOWN, markdown_of
from cdesearch.store.schema import Chunk

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

ELEMENTS = frozenset(
    """a abbr b blockquote br code dd del details div dl dt em h4 h5 h6 hr i img kbd li mark ol p pre s small span
    strong sub summary sup table tbody td th thead tr u ul""".split()  # noqa: SIM905 (a list would be a page)
)
ATTRIBUTES = {"a": {"href"}, "span": {"class"}, "ol": {"start"}, "td": {"colspan"}, "th": {"colspan"},
              "img": {"src", "alt", "width"}}  # fmt: skip
# The lexers of others take seconds for some texts of a few thousand characters, in which the server answers nobody.
COLOURED = frozenset(
    "bash c cpp css go java javascript json jsx kotlin php python ruby rust sql toml tsx typescript yaml".split()  # noqa: SIM905
)
MOST_COLOURED = 3_000  # characters
MOST_ERRORS = 0.1  # the share of tokens that a lexer may not understand; other code is not coloured
MAX_CELLS = 50  # that a row of a sheet spans whose cells are not known
LARGEST_HEADING = 4  # the page has the headings above it
MOST_CHARACTERS, MOST_MARKDOWN = 20_000, 60_000  # of a chunk, and with its elements; a longer one is shown as it is
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)(.*)$", re.MULTILINE)
_MAIL_FILE = re.compile(r"\.(?:emlx?|(?P<page>mht|mhtml)|mbox|msg)(?:\.(?:gz|bz2|xz|zst))?\Z", re.IGNORECASE)
_MAIL = re.compile(r"(?:(?:From|To|Cc|Date): .*(?:\n|\Z)){2,}")  # the headers that a message begins with
# Lines in a mail that was converted from HTML, and lines that only people and patches write
_MARKUP = re.compile(r"^(?:#{1,6} \S|\| .*\|$|```$)", re.MULTILINE)
_TYPED = re.compile(r"^(?:>|[+@-]{1,3} |\+|diff |#include|-- $)", re.MULTILINE)
_TASK = re.compile(r"^(\s*(?:[-*+]|\d+[.)])\s+)\[([ xX])\](?=\s)", re.MULTILINE)
UNTICKED, TICKED = "\N{BALLOT BOX}", "\N{BALLOT BOX WITH CHECK}"
_TOKEN = re.compile(r"[a-z]{1,2}\d?")  # a class of Pygments
_WEB = re.compile(r"https?://|mailto:", re.IGNORECASE)
_SCHEME = re.compile(r"(?<![A-Za-z0-9])https?\Z", re.IGNORECASE)
# What follows the scheme. Parentheses come in pairs; a sign that ends a sentence and an entity are no part of it.
_IN_ADDRESS = r"(?!&#\d)[^\s<>\[\]\"`|()\u3000-\u303f\uff00-\uffef]"
_ADDRESS = re.compile(rf"://(?:{_IN_ADDRESS}|\((?:{_IN_ADDRESS})*\))*(?<![.,;:!?*_'~])(?<!://)")
_ELSEWHERE = re.compile(r"[/\\]{2}|[a-z][a-z0-9+.-]*:", re.IGNORECASE)  # what is not in the folder
_PAGE = re.compile(r"\[\[([^][|#\n]+)(?:#[^][|\n]*)?(?:\|([^][\n]+))?\]\](?![(\[])")  # the name of a note, and a label
_RULE = re.compile(r"\s*:?-+:?\s*")  # a cell of the line below the head of a table
_CELL = re.compile(r"(?<!\\)\|")
_BLANK = re.compile(r"[\0- ]+")  # browsers leave them out of addresses

HasImage = Callable[[str], bool]  # whether the folder has an image of this path or, relative to a document, address


def open_fences(chunks: Iterable[Chunk]) -> Iterator[str]:
    """Yield for each chunk of a Markdown document the fence of the block of code within which it begins, or ""."""
    fence = ""
    for chunk in chunks:
        found = _FENCE.findall(chunk.body) if is_marked_up(chunk.path) else []
        if found and found[0][1].strip():
            fence = ""  # a fence with a language opens a block
        yield fence
        for mark, info in found:
            if not fence and not (mark[0] == "`" and "`" in info):
                fence = mark
            elif fence and mark.startswith(fence) and not info.strip():
                fence = ""


def rendered(chunk: Chunk, fence: str = "", has_image: HasImage = bool) -> dict[str, Any]:
    """What shows a chunk: `html` of Markdown, or `code`, the HTML of each line; neither for plain text.

    The start of a document may have a `head`: the names and values of the headers of a mail, or of front matter.
    `fence` is that of the block of code within which a chunk of Markdown begins. Of an image without a file, for which
    `has_image` is false, only the description is shown.
    """

    def shows(source: str) -> bool:
        base = f"http://folder/{quote(chunk.path)}"  # browsers read addresses so
        return has_image(unquote(urlsplit(urljoin(base, source.replace("\\", "/"))).path)[1:])

    if len(chunk.body) > MOST_CHARACTERS:
        return {}
    if is_marked_up(chunk.path):
        mail = _MAIL_FILE.search(chunk.path)
        # A part that was HTML has headings, rows or code as Markdown, and no quotation or patch.
        is_of_html = _MARKUP.search(chunk.body) and not _TYPED.search(chunk.body)
        is_typed = not any(one.element in SHOWN for one in chunk.inlines) and not is_of_html
        is_mail = mail is not None and not mail["page"] and is_typed
        is_start = not fence and chunk.ordinal == 0
        begun = _MAIL.match(chunk.body) if mail and is_start else None
        start = 0 if begun is None else begun.end()
        body = chunk.body[start:] if is_mail else markdown_of(chunk, fence, start)
        if len(body) > MOST_MARKDOWN:
            return {}
        head: list[tuple[str, str]] = []
        if begun is not None:
            headers = [line.partition(": ") for line in begun[0].split("\n") if line]
            subject = [("Subject", value) for name, value in chunk.fields if name == "subject"]
            head = [*((name, value) for name, _, value in headers), *subject[:1]]
        elif is_start:
            head, body = _front_matter(chunk.fields, body)
        html = html_of(f"{fence}\n{body}" if fence and not is_mail else body, shows, is_mail=is_mail)
        return {"head": head, "html": html} if head else {"html": html}
    if is_sheet(chunk.path):
        return {"html": _table(chunk)}
    code = coloured_lines(chunk.body, path=chunk.path)
    return {} if code is None else {"code": code}


def _table(chunk: Chunk) -> str:
    """The HTML of the rows of a sheet. A row whose cells are not known is one cell."""
    lines, rows = chunk.body.split("\n"), list[str]()
    columns = chunk.trail_at(len(lines) - 1)[-1:]  # their names are the heading of the rows
    for n, line in enumerate(lines):
        cells = cells_of(line, chunk.cells_at(n))
        tag = "th" if BAR.join(cell or NO_NAME for cell in cells or ()) in columns else "td"
        written = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells or ())
        whole = f'<td colspan="{MAX_CELLS}">{escape(line)}</td>'
        rows.append(f"<tr>{whole if cells is None else written}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _front_matter(fields: Iterable[tuple[str, str]], body: str) -> tuple[list[tuple[str, str]], str]:
    """The names and values in the first line of a text, if they are fields, and the rest of the text."""
    line, _, rest = body.partition("\n")
    found = [part.partition(": ")[::2] for part in line.split(" - ")]
    names = {name.lower() for name, _ in fields}
    is_front = all(name.lower() in names and value for name, value in found)
    return (found, rest) if is_front else ([], body)


def html_of(markdown: str, shows: HasImage = bool, *, is_mail: bool = False) -> str:
    """The HTML of a Markdown text, or of a mail, of which the lines, blanks and signs stay as they are.

    An image keeps its address if `shows` is true for it.
    """
    import nh3

    def kept(_: str, name: str, value: str) -> str | None:
        """A link to the web or to a document of the folder, an image of the folder, or a token's class."""
        checks: dict[str, Callable[[str], object]] = {
            "href": lambda target: _WEB.match(target) or _is_of_folder(target),
            "src": lambda source: _is_of_folder(source) and shows(source),
            "class": _TOKEN.fullmatch,
        }
        return value if name not in checks or checks[name](value) else None

    if is_mail:
        html = _mail().render(markdown)
    else:
        tasks = _TASK.sub(lambda found: f"{found[1]}{TICKED if found[2].strip() else UNTICKED}", markdown)
        html = _markdown().render(tasks)
    return str(nh3.clean(html, set(ELEMENTS), attributes=ATTRIBUTES, attribute_filter=kept))


def coloured_lines(text: str, *, path: str = "", language: str = "") -> list[str] | None:
    """The HTML of each line of code, with its tokens as spans; None for a text that is in no language of COLOURED."""
    from pygments import format as written
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.token import Error
    from pygments.util import ClassNotFound

    options = {"stripnl": False, "ensurenl": False}
    try:
        lexer = get_lexer_by_name(language, **options) if language else get_lexer_for_filename(path, **options)
    except ClassNotFound:
        return None
    if lexer.aliases[0] not in COLOURED or len(text) > MOST_COLOURED:
        return None
    tokens = [*lexer.get_tokens(f"{text}\n")]  # lexers expect complete lines
    if sum(kind is Error for kind, _ in tokens) > MOST_ERRORS * len(tokens):
        return None  # such as of JSON that begins within a string
    lines = str(written(tokens, HtmlFormatter(nowrap=True))).split("\n")
    n_lines = text.count("\n") + 1
    return lines[:n_lines] if len(lines) >= n_lines else None


@cache
def _mail() -> "MarkdownIt":
    """A parser that knows quotes, tables and addresses in angle brackets. In a patch, `+` and `#` begin lines."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero").enable(["blockquote", "table", "autolink"])
    return _with_own_rules(parser)


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt
    from markdown_it.common.utils import escapeHtml

    def coloured(code: str, language: str, _: str) -> str:
        lines = coloured_lines(code, language=language) if language else None
        return escapeHtml(code) if lines is None else "\n".join(lines)

    # A chunk may begin within a list, so an indented line is no code.
    parser = MarkdownIt("commonmark", {"highlight": coloured}).enable(["table", "strikethrough"]).disable("code")
    rules: dict[str, Any] = parser.renderer.rules  # type: ignore[attr-defined]

    def heading(tokens: Any, at: int, options: Any, env: Any) -> str:
        tokens[at].tag = f"h{min(6, int(tokens[at].tag[1:]) + LARGEST_HEADING - 1)}"
        return str(parser.renderer.renderToken(tokens, at, options, env))  # type: ignore[attr-defined]

    rules["heading_open"] = rules["heading_close"] = heading

    def image(tokens: Any, at: int, *_: Any) -> str:
        source, description = escapeHtml(tokens[at].attrs["src"]), escapeHtml(tokens[at].content)
        return f'<img src="{source}" alt="{description}">' if _is_of_folder(source) else description

    rules["image"] = image

    parser.inline.ruler.before("link", "page", _page)
    return _with_own_rules(parser)


def _with_own_rules(parser: "MarkdownIt") -> "MarkdownIt":
    parser.block.ruler.before("table", "rows", _rows, {"alt": ["paragraph"]})
    parser.inline.ruler.after("text", "address", _address)
    return parser


def _address(state: Any, silent: bool) -> bool:
    """Make an address of the web a link."""
    scheme = _SCHEME.search(state.pending[-len(" https") :]) if state.src.startswith("://", state.pos) else None
    found = None if scheme is None else _ADDRESS.match(state.src, state.pos)
    if scheme is None or found is None or state.linkLevel:
        return False
    if not silent:
        address = scheme[0] + found[0]
        state.pending = state.pending[: -len(scheme[0])]
        state.push("link_open", "a", 1).attrs = {"href": address}
        state.push("text", "", 0).content = address
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True


def _page(state: Any, silent: bool) -> bool:
    """Make `[[name]]` a link to a search for the name, which finds the file of that name first."""
    found = _PAGE.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("link_open", "a", 1).attrs = {"href": f"?q={quote(found[1])}"}
        state.push("text", "", 0).content = found[2] or found[1]
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True


def _rows(state: Any, first: int, end: int, silent: bool) -> bool:
    """Make rows a table although its head is in another chunk, or has fewer cells."""
    lines = (state.src[state.bMarks[n] + state.tShift[n] : state.eMarks[n]].rstrip() for n in range(first, end))
    found = [_CELL.split(line[1:-1]) for line in takewhile(_is_row, lines)]
    if silent or not found:
        return bool(found)
    has_head = found[1:] and _is_rule(found[1])
    if has_head and max(map(len, found)) == len(found[0]):
        return False  # a table as Markdown defines it
    state.push("table_open", "table", 1)
    for cells in (cells for cells in found if not _is_rule(cells)):
        tag = "th" if has_head and cells is found[0] else "td"
        state.push("tr_open", "tr", 1)
        for cell in cells:
            state.push("cell_open", tag, 1)
            inline = state.push("inline", "", 0)
            inline.content, inline.children = cell.strip(), []
            state.push("cell_close", tag, -1)
        state.push("tr_close", "tr", -1)
    state.push("table_close", "table", -1)
    state.line = first + len(found)
    return True


def _is_row(line: str) -> bool:
    """Whether a line is a row of a table of two columns or more, or the rule below its head."""
    return line[:2] in ("| ", "|-", "|:") and line[-1] == "|" and line.count("|") > 2


def _is_rule(cells: list[str]) -> bool:
    return all(_RULE.fullmatch(cell) for cell in cells)


def _is_of_folder(source: str) -> bool:
    """Whether the address of an image or a link is relative to its document; the page loads no image of the web."""
    return not _ELSEWHERE.match(_BLANK.sub("", source))
