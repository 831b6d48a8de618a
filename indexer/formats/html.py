"""Convert HTML to Markdown: headings, paragraphs, lists, tables and code, without navigation or layout."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from cdesearch.store.schema import Inline
from cdesearch.words.characters import unescaped
from indexer.formats.encoding import decode
from indexer.formats.format import Anchor, Document, Format, OpenFile, UnreadableError
from indexer.formats.html_writer import Writer, in_a_line
from indexer.formats.markdown import converted_document

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

NAVIGATION = (
    "script, style, noscript, template, nav, iframe, button, select option:not([selected]), datalist, "
    # Other hidden elements may be tabs and the like, which people open.
    "span[hidden], span[style*='display:none' i], span[style*='display: none' i], "
    "rt, rp, "  # how the letters of a word are read, which would divide it
    "svg title, svg desc, svg defs, svg metadata, "  # the names of icons, and what others refer to
    "[role=navigation], [role=search], .related, .sphinxsidebar, .headerlink, .footer, .linenos, "
    ".navheader, .navfooter, .nav-panel, .docnav, .breadcrumb, .breadcrumbs"  # DocBook, Texinfo, Publican
)
# Tables of contents repeat the headings of the sections, which answer nothing.
CONTENTS = ".toc, #toc, .mini-toc, .short-contents, .shortcontents"
CONTENT = "[role=main], main"
CERTAIN = "h1, [role=main], main"  # what contains one of these is kept, whatever class a theme has given it
CODE = "td pre, th pre"  # whose line ends must be kept, so that the row around it is not written in one line
VOID = {
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
}  # fmt: skip
CLOSED_BY_NEXT = {"p", "li", "dt", "dd", "tr", "td", "th", "option", "thead", "tbody", "tfoot", "html", "head", "body"}
NEAR = 20  # at most so many elements are between code and the table row that holds it
MAX_STEPS = 300_000_000  # sum of the depths of all tags; the parser may check all open elements at each

_NAMES = re.compile(r"\s[-\u2013\u2014|·•»:/]+\s|:\s")  # between the name of a page and that of its site
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
# Tags in a text that is no page. The first ones stand within words, and a blank replaces the others.
_WRITTEN = re.compile(
    r"</?(?:(a|abbr|b|big|cite|code|del|em|font|i|ins|kbd|mark|q|s|small|span|strong|su[bp]|u)"
    r"|blockquote|br|div|figure|h[1-6]|hr|img|li|ol|p|pre|t[dhr]|table|tbody|ul)(?:\s+[\w:-]+\s*=[^<>]*)?\s*/?>",
    re.IGNORECASE,
)


class Html(Format):
    """Web pages."""

    suffixes = frozenset({".html", ".htm", ".xhtml"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        page = to_markdown(decode(file.stream.read(), is_markup=True))
        yield replace(converted_document(file.path, page.title, page.text, page.anchors), inlines=page.inlines)


@dataclass(frozen=True, slots=True)
class Page:
    """A page as Markdown."""

    title: str
    text: str
    anchors: tuple[Anchor, ...] = ()
    inlines: tuple[Inline, ...] = ()


def to_markdown(markup: str) -> Page:
    """Convert a page; raises UnreadableError if it is nested too deep."""
    from selectolax.lexbor import LexborHTMLParser

    _check_depth(markup)
    tree = LexborHTMLParser(markup)
    title_node = tree.css_first("head > title, body > title")
    title = in_a_line(title_node.text()) if title_node else ""
    if tree.body is None:
        return Page(title, "")
    left_out = {node.mem_id for node in tree.css(f"{NAVIGATION}, {CONTENTS}")}
    around = set[int]()
    for node in tree.css(CERTAIN):
        around.update(above.mem_id for above in takewhile(lambda above: above.mem_id not in around, _above(node)))
    left_out -= around
    rows = (next((above for above in islice(_above(node), NEAR) if above.tag == "tr"), None) for node in tree.css(CODE))
    layout = {row.mem_id for row in rows if row is not None}
    content = {node.mem_id for node in tree.css(CONTENT)}
    writer = Writer(left_out, layout)
    writer.write(tree.body, content)
    if content and not writer.text():  # the marked content is empty, because a script would fill it
        writer = Writer(left_out, layout)
        writer.write(tree.body, set())
    text = writer.text()
    heading = writer.heading
    has_heading = {*_NAMES.split(heading.casefold())} <= {*_NAMES.split(title.casefold())}  # beside that of the site
    shown = heading if not title or (heading and has_heading) else title
    return Page(shown, text, writer.anchors(text), writer.inlines(text))


def without_tags(text: str) -> str:
    """A text without tags and entities of HTML, which feeds and cells of tables may have; otherwise as it is."""
    if "</" not in text and "<br" not in text:
        return text
    plain = _WRITTEN.sub(lambda found: "" if found[1] else " ", text)
    return text if plain == text else unescaped(plain)


def _above(node: "LexborNode") -> "Iterator[LexborNode]":
    while (above := node.parent) is not None:
        yield above
        node = above


def _check_depth(markup: str) -> None:
    """Raise UnreadableError for markup that takes the parser minutes: at each tag, it looks at all open elements."""
    opened: Counter[str] = Counter()
    depth = steps = 0
    for match in _TAG.finditer(markup):
        tag = match[2].lower()
        if tag not in VOID and tag not in CLOSED_BY_NEXT:
            if not match[1]:
                opened[tag] += 1
                depth += 1
            elif opened[tag]:
                opened[tag] -= 1
                depth -= 1
                continue
        steps += depth
    if steps > MAX_STEPS:
        raise UnreadableError("HTML that is nested too deep")
