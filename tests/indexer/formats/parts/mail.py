"""Parts of mail, markup, electronic books, subtitles, and what people keep: calendars, contacts and notes."""

import json
from collections.abc import Callable
from email.message import EmailMessage

from sample_files import book, zipped

from parts.part import Part


def text_parts(kind: str, suffix: str, parts: dict[str, str], left_out: dict[str, str] | None = None) -> list[Part]:
    """Parts of a format of text; in each text, `@` is where the sentence is."""

    def build(text: str) -> Callable[[str], bytes]:
        return lambda sentence: text.replace("@", sentence).encode()

    return [
        Part(kind, name, suffix, build(text), is_read)
        for texts, is_read in ((parts, True), (left_out or {}, False))
        for name, text in texts.items()
    ]


def message(change: Callable[[EmailMessage, str], object]) -> Callable[[str], bytes]:
    """A file of one message, into which `change` writes a sentence."""

    def build(sentence: str) -> bytes:
        made = EmailMessage()
        made["From"], made["Message-ID"] = "Ann <ann@example.org>", "<1>"
        change(made, sentence)
        return bytes(made)

    return build


def header(name: str) -> Callable[[str], bytes]:
    return message(lambda made, sentence: made.__setitem__(name, sentence))


def plain(made: EmailMessage, sentence: str) -> None:
    made.set_content(f"{sentence}.", cte="quoted-printable")


def alternative(text: str, html: str) -> Callable[[str], bytes]:
    def change(made: EmailMessage, sentence: str) -> None:
        made.set_content(text.replace("@", sentence))
        made.add_alternative(html.replace("@", sentence), subtype="html")

    return message(change)


def attached(name: str, before: str = "") -> Callable[[str], bytes]:
    def change(made: EmailMessage, sentence: str) -> None:
        made.set_content("See below.")
        made.add_attachment(
            f"{before}{sentence}.".encode(),
            maintype="application",
            subtype="octet-stream",
            filename=name.replace("@", sentence),
        )

    return message(change)


def forwarded(made: EmailMessage, sentence: str) -> None:
    inner = EmailMessage()
    inner["Subject"] = "Old"
    inner.set_content(f"{sentence}.")
    made.set_content("See below.")
    made.add_attachment(inner)


def report(sentence: str) -> bytes:
    head = 'From: a\nMIME-Version: 1.0\nContent-Type: multipart/report; boundary="b"\n\n--b\n\ntext\n\n--b\n'
    return f"{head}Content-Type: message/delivery-status\n\nTo: x\n\nDiagnostic-Code: {sentence}\n\n--b--".encode()


def mailbox(status: str = "0001", *, in_second: bool = False) -> Callable[[str], bytes]:
    def build(sentence: str) -> bytes:
        first, second = ("Hello", sentence) if in_second else (sentence, "Hello")
        one = f"From - Mon Jan  1 10:00:00 2024\nX-Mozilla-Status: {status}\nFrom: a\nTo: b\nSubject: c\n\n{first}.\n\n"
        return (one + f"From - Mon Jan  1 11:00:00 2024\nFrom: a\nTo: b\nSubject: d\n\n{second}.\n").encode()

    return build


MAIL = "Mail (.eml, Maildir)"
MAILS = [
    *(Part(MAIL, name.lower(), ".eml", header(name)) for name in ("Subject", "To", "Cc")),
    Part(MAIL, "plain text", ".eml", message(plain)),
    Part(MAIL, "HTML", ".eml", message(lambda made, sentence: made.set_content(f"<p>{sentence}.</p>", subtype="html"))),
    Part(MAIL, "HTML beside a hint", ".eml", alternative("Your client does not show HTML.", "<p>Dear all, @.</p>")),
    Part(MAIL, "plain text beside a picture", ".eml", alternative("@.", "<img src='a.png'>")),
    Part(MAIL, "name of an attachment", ".eml", attached("@.png")),
    Part(MAIL, "attachment", ".eml", attached("a.md", "# Title\n\n")),
    Part(
        MAIL,
        "attached archive",
        ".eml",
        message(
            lambda made, sentence: made.add_attachment(
                zipped({"a.md": sentence}), maintype="application", subtype="zip", filename="a.zip"
            )
        ),
    ),
    Part(MAIL, "forwarded message", ".eml", message(forwarded)),
    Part(MAIL, "report of delivery", ".eml", report),
    Part(MAIL, "message without suffix", "", message(plain)),
    Part(
        MAIL,
        "message that is called a text",
        ".txt",
        message(lambda made, sentence: made.set_content(f"{sentence}.", cte="base64")),
    ),
    Part("Apple Mail (.emlx)", "plain text", ".emlx", lambda sentence: b"900 \nFrom: a\n\n" + sentence.encode()),
    Part("Mailbox (.mbox, Thunderbird)", "first message", ".mbox", mailbox()),
    Part("Mailbox (.mbox, Thunderbird)", "second message", ".mbox", mailbox(in_second=True)),
    Part("Mailbox (.mbox, Thunderbird)", "mailbox without suffix", "", mailbox()),
    Part("Mailbox (.mbox, Thunderbird)", "deleted message", "", mailbox("0009"), is_read=False),
]
PAGE = "MIME-Version: 1.0\nSubject: Page\nContent-Type: multipart/related; boundary=b\n\n"
PAGE += "--b\nContent-Type: text/html\n\n{}\n--b\nContent-Type: text/{}\n\n{}\n--b--\n"
SAVED = text_parts(
    "Saved page (.mht, .mhtml)",
    ".mhtml",
    {"text": PAGE.format("<p>@.</p>", "css", "p"), "frame": PAGE.format("<p>a</p>", "html", "<p>@.</p>")},
    {"style sheet": PAGE.format("<p>a</p>", "css", "/* @ */ p { color: red }")},
)
MARKDOWN = text_parts(
    "Markdown",
    ".md",
    {
        "heading": "# @\n\ntext\n",
        "paragraph": "# Title\n\n@.\n",
        "list": "# Title\n\n- one\n  - @\n",
        "table": "| a | b |\n|---|---|\n| 1 | @ |\n",
        "quotation": "> @.\n",
        "code": "```\n@\n```\n",
        "footnote": "a[^1]\n\n[^1]: @.\n",
        "link text": "[@](https://a.example)\n",
        "alternative text of a picture": "![@](a.png)\n",
        "comment": "text\n\n<!-- @ -->\n",
        "text beside a written picture": f"![a](data:image/png;base64,{'iVBO' * 300}) @.\n",
    },
)
HTML = text_parts(
    "HTML",
    ".html",
    {
        "title": "<title>@</title><p>text</p>",
        "title above another heading": "<title>@ - Forum</title><h1>Thread</h1><p>text</p>",
        "heading": "<h2>@</h2><p>text</p>",
        "paragraph": "<main><p>@.</p></main>",
        "list": "<ul><li>one<li>@</ul>",
        "definition list": "<dl><dt>term</dt><dd>@</dd></dl>",
        "table": "<table><tr><td>a</td><td>@</td></tr></table>",
        "caption of a table": "<table><caption>@</caption><tr><td>a</td></tr></table>",
        "caption of a figure": "<figure><img src='a.png'><figcaption>@</figcaption></figure>",
        "alternative text of a picture": "<p>text <img src='a.png' alt='@'></p>",
        "title of a picture": "<p>text <img src='a.png' title='@'></p>",
        "alternative text of an area": "<p>text</p><map><area alt='@'></map>",
        "meaning of an abbreviation": "<p>text <abbr title='@'>TX</abbr></p>",
        "word with its reading": "<p><ruby>@<rp>(</rp><rt>reading</rt><rp>)</rp></ruby></p>",
        "title of a figure": "<figure title='@'><img src='a.png'></figure>",
        "code": "<pre>@</pre>",
        "quotation": "<blockquote>@</blockquote>",
        "details": "<details><summary>a</summary>@</details>",
        "form": "<form>@ <input></form>",
        "value of a form": "<form>Name: <input value='@'></form>",
        "hint in a form": "<form>Name: <input placeholder='@'></form>",
        "selected choice": "<form><select><option>a<option selected>@</select></form>",
        "panel of a tab": "<p>text</p><div id='tab' style='display:none'>@</div><div role='tabpanel' hidden>@</div>",
        "text of a drawing": "<p>text</p><svg><g><text>a</text><text>@</text></g></svg>",
    },
    {
        "navigation": "<nav>@</nav><p>text</p>",
        "comment": "<p>text<!-- @ --></p>",
        "hidden value or button of a form": "<p>text<input type=hidden value='@'><input type=submit value='@'>",
        "script": "<script>// @</script><p>text</p>",
        "style": "<style>/* @ */</style><p>text</p>",
        "template": "<template>@</template><p>text</p>",
        "label for a screen reader": "<p aria-label='@'>text</p>",
        "name of the site beside the title": "<title>Den - @</title><h1>Den</h1><p>text</p>",
        "other choices": "<p>text</p><select><option>@</select>",
        "title of a drawing": "<p>text</p><svg><title>@</title><path/></svg>",
        "text for browsers without scripts": "<p>text</p><noscript>@</noscript>",
        "description for search engines": "<meta name='description' content='@'><p>text</p>",
        "hidden words": "<p>text <span style='color:red; DISPLAY: none'>@</span> <span hidden>@</span></p>",
        "hidden key of sorting": "<p>text <span class='sortkey' style='display:none'>@</span></p>",
        "reading of a word": "<p><ruby>text<rt>@</rt></ruby></p>",
        "page header": "<header>@</header><p>text</p>",
        "page footer": "<p>text</p><footer>@</footer>",
    },
)


def epub(page: str, title: str = "One") -> Callable[[str], bytes]:
    return lambda sentence: zipped(
        book({"a.xhtml": page.replace("@", sentence)}, {"a.xhtml": title.replace("@", sentence)})
    )


EPUB = [
    Part("EPUB", name, ".epub", build)
    for name, build in {
        "paragraph": epub("<p>@.</p>"),
        "heading": epub("<h1>@</h1><p>text</p>"),
        "title in the table of contents": epub("<p>text</p>", "@"),
        "title in the table of contents beside a heading": epub("<h1>I</h1><p>text</p>", "@"),
        "table": epub("<table><tr><td>@</td></tr></table>"),
        "footnote": epub('<p>text</p><aside epub:type="footnote">@</aside>'),
        "alternative text of a picture": epub('<p>text <img src="a.png" alt="@"/></p>'),
    }.items()
]


def notebook(cell: dict[str, object]) -> Callable[[str], bytes]:
    return lambda sentence: json.dumps({"cells": [cell]}).replace("@", sentence).encode()


def output(data: dict[str, object]) -> Callable[[str], bytes]:
    return notebook({"cell_type": "code", "source": ["x"], "outputs": [data]})


NOTEBOOK = [
    Part("Notebook (.ipynb)", name, ".ipynb", build, not name.startswith("traceback"))
    for name, build in {
        "Markdown": notebook({"cell_type": "markdown", "source": ["# Title\n", "@."]}),
        "code": notebook({"cell_type": "code", "source": ["# @"]}),
        "raw text": notebook({"cell_type": "raw", "source": "@"}),
        "printed text": output({"output_type": "stream", "text": ["@\n"]}),
        "result": output({"output_type": "execute_result", "data": {"text/plain": ["@"]}}),
        "Markdown output": output({"data": {"text/markdown": "@", "text/plain": "<Markdown>"}}),
        "HTML output": output({"data": {"text/html": "<p>@</p>", "text/plain": "<HTML>"}}),
        "HTML output alone": output({"data": {"text/html": ["<p>@</p>"]}}),
        "HTML output beside a name": output({"data": {"text/html": "<p>@</p>", "text/plain": "Report object"}}),
        "LaTeX output": output({"data": {"text/latex": "$@$", "text/plain": "x"}}),
        "error": output({"output_type": "error", "ename": "KeyError", "evalue": "@", "traceback": []}),
        "traceback": output({"output_type": "error", "ename": "KeyError", "evalue": "a", "traceback": ["@"]}),
    }.items()
]
XML = text_parts(
    "XML",
    ".xml",
    {
        "element": "<a><b>@</b></a>",
        "attribute": "<a><b name='@'/></a>",
        "mixed text": "<a>text <b>@</b> text</a>",
        "element beside another in mixed text": "<a>text <b>one</b><b>@</b> text</a>",
        "attribute of mixed text": "<a><b name='@'>text <i>one</i> text</b></a>",
        "CDATA": "<a><b><![CDATA[@]]></b></a>",
        "title": "<book><chapter><title>@</title><para>some <b>text</b></para></chapter></book>",
    },
    {"comment": "<a><b>c</b><!-- @ --></a>"},
) + text_parts(
    "SVG",
    ".svg",
    {
        "title": "<svg><title>@</title></svg>",
        "description": "<svg><g><desc>@</desc></g></svg>",
        "label": "<svg><text>@</text></svg>",
        "text in HTML": "<svg><foreignObject><div>@</div></foreignObject></svg>",
    },
    {"identifier": "<svg><text>a</text><path id='@'/></svg>", "style": "<svg><style>@</style><text>a</text></svg>"},
)
BOOK = "<FictionBook><description><title-info>{}</title-info></description><body>{}</body>{}</FictionBook>"
FICTION = text_parts(
    "FictionBook (.fb2)",
    ".fb2",
    {
        "title": BOOK.format("<book-title>@</book-title>", "<section><p>a</p></section>", ""),
        "author": BOOK.format("<author><last-name>@</last-name></author>", "<section><p>a</p></section>", ""),
        "annotation": BOOK.format("<annotation><p>@</p></annotation>", "<section><p>a</p></section>", ""),
        "title of a section": BOOK.format("", "<section><title><p>@</p></title><p>a</p></section>", ""),
        "paragraph": BOOK.format("", "<section><p>@.</p></section>", ""),
        "poem": BOOK.format("", "<section><poem><stanza><v>@</v></stanza></poem></section>", ""),
        "table": BOOK.format("", "<section><table><tr><td>@</td></tr></table></section>", ""),
        "note": BOOK.format("", "<section><p>a</p></section>", "<body name='notes'><section><p>@</p></section></body>"),
    },
    {"picture": BOOK.format("", "<section><p>a</p></section>", "<binary id='a'>@</binary>")},
)
SUBTITLES = (
    text_parts("SubRip (.srt)", ".srt", {"text": "1\n00:00:01,000 --> 00:00:02,000\n<i>@</i>\n"})
    + text_parts(
        "WebVTT (.vtt)",
        ".vtt",
        {
            "text": "WEBVTT\n\n00:01.000 --> 00:02.000\n@\n",
            "speaker": "WEBVTT\n\n00:01.000 --> 00:02.000\n<v @>Hello\n",
        },
        {"note": "WEBVTT\n\nNOTE @\n\n00:01.000 --> 00:02.000\nHello\n"},
    )
    + text_parts(
        "SubStation Alpha (.ass, .ssa)",
        ".ass",
        {
            "text": "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\i1}@{\\i0}\n",
            "speaker": "Dialogue: 0,0:00:01.00,0:00:02.00,Default,@,0,0,0,,Hello\n",
        },
        {
            "comment": "Dialogue: 0,0:00:01.00,0:00:02.00,A,,0,0,0,,Hello\n"
            "Comment: 0,0:00:03.00,0:00:04.00,A,,0,0,0,,@\n"
        },
    )
)
EVENT = "BEGIN:VCALENDAR\r\nBEGIN:{0}\r\nUID:7\r\nSUMMARY:Meeting\r\n{1}\r\nEND:{0}\r\nEND:VCALENDAR\r\n"
CALENDAR = text_parts(
    "Calendar (.ics)",
    ".ics",
    {
        "summary": EVENT.format("VEVENT", "SUMMARY:@"),
        "description": EVENT.format("VEVENT", "DESCRIPTION:Line\\n@\\, and more"),
        "continued line": EVENT.format("VEVENT", "DESCRIPTION:Line \r\n @"),
        "location": EVENT.format("VEVENT", "LOCATION;LANGUAGE=en:@"),
        "organizer": EVENT.format("VEVENT", 'ORGANIZER;CN="@":mailto:a'),
        "attendee": EVENT.format("VEVENT", "ATTENDEE;CN=@;ROLE=CHAIR:mailto:a"),
        "comment": EVENT.format("VEVENT", "COMMENT:@"),
        "categories": EVENT.format("VEVENT", "CATEGORIES:@"),
        "task": EVENT.format("VTODO", "DESCRIPTION:@"),
        "journal": EVENT.format("VJOURNAL", "DESCRIPTION:@"),
        "name of the calendar": "BEGIN:VCALENDAR\r\nX-WR-CALNAME:@\r\nEND:VCALENDAR\r\n",
    },
    {
        "alarm": EVENT.format("VEVENT", "BEGIN:VALARM\r\nDESCRIPTION:@\r\nEND:VALARM"),
        "identifier": EVENT.format("VEVENT", "UID:@"),
    },
)
CARD = "BEGIN:VCARD\nVERSION:3.0\nFN:Ann\n{}\nEND:VCARD\n"
CONTACTS = text_parts(
    "Contacts (.vcf)",
    ".vcf",
    {
        "name": CARD.format("FN:@"),
        "organization": CARD.format("ORG:@;Sales"),
        "address": CARD.format("ADR;TYPE=home:;;@;Oslo;;;"),
        "note": CARD.format("NOTE:@"),
        "quoted-printable note": CARD.format("NOTE;ENCODING=QUOTED-PRINTABLE:Line=0A=\n@"),
        "nickname": CARD.format("item1.NICKNAME:@"),
        "title": CARD.format("TITLE:@"),
        "email": CARD.format("EMAIL:@"),
        "telephone": CARD.format("TEL;TYPE=cell:@"),
    },
    {"photo": CARD.format("PHOTO;ENCODING=b:@")},
)
NOTE = "<en-export><note><title>a</title><content><![CDATA[<en-note>{}</en-note>]]></content>{}</note></en-export>"
NOTES = text_parts(
    "Evernote (.enex)",
    ".enex",
    {
        "title": NOTE.format("text", "").replace("<title>a", "<title>@"),
        "text": NOTE.format("<div>@</div>", ""),
        "list": NOTE.format("<ul><li><en-todo checked='true'/>@</li></ul>", ""),
        "table": NOTE.format("<table><tr><td>@</td></tr></table>", ""),
        "tag": NOTE.format("text", "<tag>@</tag>"),
        "name of an attachment": NOTE.format(
            "text", "<resource><resource-attributes><file-name>@</file-name></resource-attributes></resource>"
        ),
    },
    {"attachment": NOTE.format("text", "<resource><data encoding='base64'>@</data></resource>")},
) + text_parts(
    "Canvas (.canvas)",
    ".canvas",
    {
        "card": '{"nodes": [{"type": "text", "text": "# a\\n@"}]}',
        "group": '{"nodes": [{"type": "group", "label": "@"}]}',
        "name of a file": '{"nodes": [{"type": "file", "file": "@.md"}]}',
        "label of an arrow": '{"edges": [{"label": "@"}]}',
    },
)
BIBTEX = text_parts(
    "BibTeX (.bib)",
    ".bib",
    {
        "field in braces": "title = {{@}},\n",
        "quoted field": 'title = "@"\n',
        "comment": "% @\n",
    },
)
REST = text_parts(
    "reStructuredText",
    ".rst",
    {
        "heading": "@\n" + "=" * 90 + "\n\ntext\n",
        "paragraph": "@.\n",
        "directive": ".. note:: @\n",
        "footnote": "a [1]_\n\n.. [1] @\n",
        "table": "=====  =====\na      b\n=====  =====\n1      @\n=====  =====\n",
        "caption": ".. figure:: a.png\n\n   @\n",
        "alternative text of a picture": ".. image:: a.png\n   :alt: @\n",
    },
    {"comment": "text\n\n.. @\n"},
)
ASCIIDOC = text_parts(
    "AsciiDoc",
    ".adoc",
    {
        "title": "= @\n\ntext\n",
        "heading": "= Title\n\n== @\n",
        "paragraph": "@.\n",
        "title of a block": ".@\n----\ncode\n----\n",
        "code": "----\n@\n----\n",
        "footnote": "text footnote:[@]\n",
        "table": "|===\n| a | @\n|===\n",
        "link text": "https://a.example[@]\n",
        "alternative text of a picture": "image::a.png[@]\n",
    },
    {"comment": "text\n// @\n", "block of comments": "text\n\n////\n@\n////\n", "attribute": ":keywords: @\n\ntext\n"},
)
ORG = text_parts(
    "Org",
    ".org",
    {
        "title": "#+TITLE: @\n\ntext\n",
        "heading": "* TODO @\ntext\n",
        "paragraph": "@.\n",
        "list": "- @\n",
        "table": "| a | @ |\n",
        "footnote": "a[fn:1]\n\n[fn:1] @.\n",
        "caption": "#+CAPTION: @\n[[./a.png]]\n",
        "code": "#+begin_src sh\n@\n#+end_src\n",
        "link text": "[[https://a.example][@]]\n",
        "author": "#+AUTHOR: @\n\ntext\n",
        "tags of the file": "#+filetags: @\n\ntext\n",
        "tags of a heading": "* text :@:\n",
    },
    {
        "comment": "text\n# @\n",
        "block of comments": "text\n#+begin_comment\n@\n#+end_comment\n",
        "property": "* a\n:PROPERTIES:\n:ID: @\n:END:\ntext\n",
    },
)
LATEX = text_parts(
    "LaTeX",
    ".tex",
    {
        "title": "\\title{@}\n\\begin{document}\ntext\n\\end{document}\n",
        "author": "\\author{@}\n\\begin{document}\ntext\n\\end{document}\n",
        "heading": "\\section{@}\ntext\n",
        "paragraph": "\\begin{document}\n@.\n\\end{document}\n",
        "footnote": "text\\footnote{@}\n",
        "caption": "\\begin{figure}\n\\caption{@}\n\\end{figure}\n",
        "table": "\\begin{tabular}{ll}\na & @ \\\\\n\\end{tabular}\n",
        "list": "\\begin{itemize}\n\\item @\n\\end{itemize}\n",
        "code": "\\begin{verbatim}\n@\n\\end{verbatim}\n",
        "emphasis": "\\emph{@}\n",
    },
    {
        "comment": "text % @\n",
        "block of comments": "text\n\\begin{comment}\n@\n\\end{comment}\n",
        "preamble": "\\newcommand{\\a}{@}\n\\begin{document}\ntext\n\\end{document}\n",
    },
)

PARTS = [
    *(*MAILS, *SAVED, *MARKDOWN, *HTML, *EPUB, *FICTION, *NOTEBOOK, *XML, *SUBTITLES, *CALENDAR, *CONTACTS, *NOTES),
    *(*BIBTEX, *REST, *ASCIIDOC, *ORG, *LATEX),
]
