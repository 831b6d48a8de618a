"""HTML to Markdown: headings, paragraphs, lists, tables and code; without the page's furniture."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

FURNITURE = (
    "script, style, noscript, template, nav, header, footer, aside, form, iframe, svg, button, "
    "[role=navigation], [role=search], .related, .sphinxsidebar, .headerlink, .footer, .clearer"
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = {
    "p",
    "div",
    "section",
    "article",
    "main",
    "blockquote",
    "dl",
    "dt",
    "dd",
    "ul",
    "ol",
    "figure",
    "body",
    "details",
}


def to_markdown(markup: str) -> tuple[str, str]:
    """Title and Markdown text of a page."""
    tree = LexborHTMLParser(markup)
    title_node = tree.css_first("title")
    title = _inline(title_node) if title_node else ""
    for node in tree.css(FURNITURE):
        node.decompose()
    top = tree.css_first("[role=main]") or tree.css_first("main") or tree.css_first("article") or tree.body
    if top is None:
        return title, ""
    heading = top.css_first("h1")
    parts: list[str] = []
    _render(top, parts)
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", "".join(parts))).strip()
    return (_inline(heading) if heading else title), text


def _render(node: LexborNode, parts: list[str]) -> None:
    for child in node.iter(include_text=True):
        tag = child.tag
        if tag in HEADINGS:
            parts.append(f"\n\n{'#' * HEADINGS[tag]} {_inline(child)}\n\n")
        elif tag == "pre":
            parts.append(f"\n\n```\n{child.text().strip(chr(10))}\n```\n\n")
        elif tag == "tr":
            cells = [_inline(cell) for cell in child.iter() if cell.tag in ("td", "th")]
            parts.append("\n" + " | ".join(cells))
        elif tag == "li":
            item: list[str] = []
            _render(child, item)
            parts.append("\n- " + "".join(item).strip())
        elif tag == "br":
            parts.append("\n")
        elif tag == "-text":
            parts.append(re.sub(r"\s+", " ", child.text()))
        elif tag in BLOCKS:
            parts.append("\n\n")
            _render(child, parts)
            parts.append("\n\n")
        else:
            _render(child, parts)


def _inline(node: LexborNode) -> str:
    return " ".join(node.text().split()).removesuffix("¶").strip()
