"""Sound files of packages, mail, rich text, markup and structured data, each as small as it can be, made by code."""

import io
import tarfile
import zipfile

import old_office_files

Parts = dict[str, bytes]  # the parts of a package

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
SLIDE = f'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" {DRAWING} xmlns:r="{OFFICE}"'
SHEET = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{OFFICE}"'
OPEN = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "presentation", "meta", "manifest")
)
OPEN += ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'


def zipped(parts: Parts) -> bytes:
    """A package of these parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def relations(*targets: tuple[str, str]) -> bytes:
    """Relations with the ids r1, r2 and so on, of pairs of a kind and a target."""
    lines = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, start=1)
    )
    namespace = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{namespace}">{lines}</Relationships>'.encode()


def shape(text: str, role: str = "") -> str:
    """A shape of a slide with a paragraph per line, which is a placeholder if it has a role."""
    place = f'<p:ph type="{role}"/>' if role else ""
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f"<p:sp><p:nvSpPr><p:nvPr>{place}</p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>"


def slide(shapes: str, root: str = "sld") -> bytes:
    """A slide, or a page of notes, of raw shapes."""
    return f"<p:{root} {SLIDE}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{root}>".encode()


def presentation(slides: list[bytes], extra: Parts | None = None) -> Parts:
    """A PowerPoint presentation."""
    names = [f"slides/slide{number}.xml" for number in range(1, len(slides) + 1)]
    ids = "".join(f'<p:sldId id="{255 + number}" r:id="r{number}"/>' for number in range(1, len(slides) + 1))
    return {
        "_rels/.rels": relations(("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {SLIDE}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>".encode(),
        "ppt/_rels/presentation.xml.rels": relations(*[("slide", name) for name in names]),
        **{f"ppt/{name}": data for name, data in zip(names, slides, strict=True)},
        **(extra or {}),
    }


def talk() -> Parts:
    """A presentation with two slides, notes, a table and a group."""
    cells = "".join(
        "<a:tr>" + "".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>" for text in row)
        + "</a:tr>"
        for row in (("Country", "Bears"), ("Romania", "6000"))
    )  # fmt: skip
    table = (
        f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{cells}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    return presentation(
        [
            slide(shape("Bears of Europe", "ctrTitle") + shape("A talk", "subTitle") + shape("7", "sldNum")),
            slide(f"{shape('Where', 'title')}{table}<p:grpSp>{shape('in a group')}</p:grpSp>"),
        ],
        {
            "ppt/slides/_rels/slide2.xml.rels": relations(("notesSlide", "../notesSlides/notesSlide1.xml")),
            "ppt/notesSlides/notesSlide1.xml": slide(shape("the Carpathians", "body") + shape("2", "sldNum"), "notes"),
        },
    )


def workbook(sheets: dict[str, str], texts: str = "", styles: str = "") -> Parts:
    """An Excel workbook of raw rows by the names of sheets, of shared strings and of styles."""
    names = [("worksheet", f"worksheets/sheet{number}.xml") for number in range(1, len(sheets) + 1)]
    listed = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>' for i, name in enumerate(sheets, start=1))
    return {
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f"<workbook {SHEET}><sheets>{listed}</sheets></workbook>".encode(),
        "xl/_rels/workbook.xml.rels": relations(*names, *(("sharedStrings", "texts.xml"), ("styles", "styles.xml"))),
        "xl/texts.xml": f"<sst {SHEET}>{texts}</sst>".encode(),
        "xl/styles.xml": f"<styleSheet {SHEET}>{styles}</styleSheet>".encode(),
        **{
            f"xl/{target}": f'<worksheet {SHEET}><dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData>'
            "</worksheet>".encode()
            for (_, target), rows in zip(names, sheets.values(), strict=True)
        },
    }  # fmt: skip


STYLES = (
    '<numFmts><numFmt numFmtId="164" formatCode="[$-409]d mmm yyyy;@"/>'
    '<numFmt numFmtId="165" formatCode="0 &quot;days&quot;"/>'
    '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs>'
)


def prices() -> Parts:
    """A workbook with a title above the table, dates, a formula, rich text, and a second sheet."""
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c></row>'
        '<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="s"><v>2</v></c><c r="C3" t="s"><v>3</v></c></row>'
        '<row r="4"><c r="A4" t="inlineStr"><is><r><t>blue </t></r><r><t>paint</t></r></is></c><c r="B4"><f>1+2.5</f>'
        '<v>3.5</v></c><c r="C4" s="1"><v>45292</v></c></row>'
        '<row r="5"><c r="A5" t="b"><v>1</v></c><c r="C5" s="2"><v>45292.25</v></c><c r="D5" s="3"><v>7</v></c></row>'
    )
    texts = "".join(f"<si><t>{text}</t></si>" for text in ("Budget", "Name", "Price", "Date"))
    return workbook({"Prices": rows, "Notes": '<row><c t="str"><v>see above</v></c></row>'}, texts, STYLES)


def open_document(kind: str, body: str, title: str = "") -> Parts:
    """An OpenDocument of a kind such as "text"."""
    return {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
        "content.xml": f"<office:document-content {OPEN}><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>".encode(),
        "meta.xml": f"<office:document-meta {OPEN}><office:meta><dc:title>{title}</dc:title></office:meta>"
        "</office:document-meta>".encode(),
    }  # fmt: skip


def letter() -> Parts:
    """A text with a heading, a list, a table, a footnote, and deleted text."""
    return open_document(
        "text",
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>deleted</text:p></text:deletion>"
        '</text:changed-region></text:tracked-changes><text:h text:outline-level="1">Bears</text:h>'
        "<text:p>They<text:s/>sleep<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>in winter</text:p></text:note-body></text:note>.</text:p><text:p># no heading</text:p>"
        "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>inner</text:p>"
        "</text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>Country</text:p></table:table-cell><table:table-cell>"
        "<text:p>Bears</text:p></table:table-cell></table:table-row></table:table>",
        "On bears",
    )


def open_sheet() -> Parts:
    """A spreadsheet with repeated rows and cells, as LibreOffice writes them to the end of a sheet."""

    def cell(text: str, more: str = 'office:value-type="string"') -> str:
        return f"<table:table-cell {more}><text:p>{text}</text:p></table:table-cell>"

    number = 'office:value-type="float" office:value="3.5"'
    return open_document(
        "spreadsheet",
        f'<table:table table:name="Prices"><table:table-row>{cell("Name")}{cell("Price")}</table:table-row>'
        '<table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="1024"/>'
        f"</table:table-row><table:table-row>{cell('blue paint')}"
        f"{cell('3.5', number)}</table:table-row>"
        f'<table:table-row table:number-rows-repeated="1048572">{cell("x")}</table:table-row></table:table>',
    )


def open_talk() -> Parts:
    """A presentation with a title and notes."""
    return open_document(
        "presentation",
        '<draw:page draw:name="page1"><draw:frame presentation:class="title"><draw:text-box><text:p>Bears</text:p>'
        "</draw:text-box></draw:frame><draw:frame><draw:text-box><text:p>They sleep.</text:p></draw:text-box>"
        "</draw:frame><presentation:notes><draw:frame><draw:text-box><text:p>slowly</text:p></draw:text-box>"
        "</draw:frame></presentation:notes></draw:page><draw:page><draw:frame><draw:text-box><text:p>The end.</text:p>"
        "</draw:text-box></draw:frame></draw:page>",
    )


def book(chapters: dict[str, str], titles: dict[str, str], extra: Parts | None = None) -> Parts:
    """An electronic book of bodies of pages in the order of reading, and the titles of its table of contents."""
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in sorted(chapters)
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    links = "".join(f'<li><a href="{name}#start">{title}</a></li>' for name, title in titles.items())
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:title>On bears</dc:title></metadata><manifest><item id="n" properties="nav" href="nav.xhtml"/>{items}'
        f"</manifest><spine>{spine}</spine></package>"
    )
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'
    return {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": b'<container><rootfile full-path="OEBPS/book.opf"/></container>',
        "OEBPS/book.opf": package.encode(),
        "OEBPS/nav.xhtml": page.format(f"<nav><ol>{links}</ol></nav>").encode(),
        **{f"OEBPS/{name}": page.format(body).encode() for name, body in chapters.items()},
        **(extra or {}),
    }


def bears() -> Parts:
    """A book of two chapters, the first of which has no heading of its own."""
    return book(
        {"z.xhtml": '<p>They sleep.<a id="x"/></p>', "a.xhtml": "<h1>Food</h1><p>Honey.</p>"},
        {"z.xhtml": "Winter", "a.xhtml": "Food"},
    )


RICH_TEXT = (
    rb"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fnil Arial;}{\f1\fcharset204 Times;}}"
    rb"{\info{\title On b\'e4rs}{\author X}}{\*\generator me}{\stylesheet{\s1 heading 1;}}\pard\outlinelevel0 Bears"
    rb"\par\pard They \b sleep\b0  in the w\'f6rld"
    rb" for \u8364?5. {\f1 \'c4\'e0}{\pict 00ff}\par # no heading\par\trowd\intbl Country\cell Bears\cell\row"
    rb"\intbl Romania\cell 6000\cell\row\pard{\field{\*\fldinst HYPERLINK x}{\fldrslt a link}}\par}"
)

MESSAGE = (
    b"From: =?utf-8?q?B=C3=A4r?= <bear@example.org>\nTo: you@example.org\n"
    b"Subject: =?iso-8859-1?q?Gr=FC=DFe?=\n =?utf-8?b?IGF1cw==?=\n"
    b"Date: Mon, 1 Jan 2024 10:00:00 +0000\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b1\n\n"
    b"--b1\nContent-Type: multipart/alternative; boundary=b2\n\n--b2\nContent-Type: text/plain; charset=iso-8859-1\n"
    b"Content-Transfer-Encoding: quoted-printable\n\nDer B=E4r schl=E4ft.\n"
    b"--b2\nContent-Type: text/html\n\n<p>Der <b>B&auml;r</b> schl&auml;ft.\n--b2--\n"
    b'--b1\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename="../../food.md"\n'
    b"Content-Transfer-Encoding: base64\n\nIyBGb29kCgpIb25leS4K\n"
    b"--b1\nContent-Type: image/png; name=bear.png\n\nx\n--b1--\n"
)
MAILBOX = (
    b"From bear Mon Jan  1 10:00:00 2024\n" + MESSAGE + b"\nFrom me Mon Jan  1 11:00:00 2024\n"
    b"From: me@example.org\nSubject: Re: Honey\n\nYes.\n>From my tree.\n"
)

PACKAGES = {
    "a.pptx": talk(),
    "a.xlsx": prices(),
    "a.odt": letter(),
    "a.ods": open_sheet(),
    "a.odp": open_talk(),
    "a.epub": bears(),
}
PACKAGE_JSON = b"""// tsconfig and others have comments
{
  "name": "bears",
  "scripts": {"build": "tsc -p .", "deep": {"list": [1, [2, 3]]}},
  "keywords": ["honey", "paw"],
  "people": [
    {"id": 7, "name": "Ann\\nSmith"},
    {"title": "B\\u00e4r", "track": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}
  ]
}
"""
BOOK = b"""<?xml version="1.0"?>
<!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "docbookx.dtd" [<!ENTITY version "4.2">]>
<book><title>Bears &version;</title>
<chapter id="den"><title>The <emphasis>den</emphasis></title>
<para><indexterm><primary>sleep</primary></indexterm>A bear <literal>sleeps</literal>&nbsp;there
  all winter &mdash; alone.</para>
<itemizedlist><listitem><para>on <emphasis>leaves</emphasis></para></listitem></itemizedlist>
<programlisting>
  if cold:
      sleep()
</programlisting>
</chapter></book>
"""
SCHEMA = b"""<schemalist version="2">
  <schema id="org.bear" path="/org/bear/">
    <key name="honey" type="i">
      <default>3</default>
      <summary>Pots of honey</summary>
    </key>
    <empty/>
  </schema>
</schemalist>
"""
WORKFLOW = b"""# runs every night
name: hibernate
on:
  push:
    branches: [main, dev]
jobs:
  sleep:
    steps:
      - uses: actions/den
        name: Find a den
      - run: |
          not: a key
"""
PROJECT = b"""[project]
name = "bears" # [no section]
text = \"\"\"
[no section either]
\"\"\"
[tool.den.lint]
rows = [
 ["a"],
 ["b"]
]
[[bin]]
path = 'x[y]'
"""
NOTES = b"""#+TITLE: Bear notes
# a comment
* TODO [#A] Find honey :food:forest:
:PROPERTIES:
:ID: 1
:END:
See [[https://bear.example][the map]].
#+begin_src sh
# no heading
,* star
#+end_src
** Trees
- oak
"""
MANUAL = b"""= Bear Manual
:toc:
// a comment
== Care
[[care]]
[source,sh]
----
# no heading
----
See https://bear.example[the map](((maps))) and <<care,above>>.

Older style
-----------
Feed it.
"""
PAPER = rb"""\documentclass{article}
\title{On \emph{Bears}}
\begin{document}
\section{The B\"aren \textbf{of $x^2$}}\label{sec:a}
They~sleep --- ``soundly'' 50\% of \emph{a \textbf{cold}} winter\cite[p.~3]{x,y}\index{w!$x$|see{cold}}. % note $
\begin{align}
 a &= b % kept
\end{align}
\begin{itemize}
\item Na\"\i ve
\end{itemize}
\begin{verbatim}
# no \emph{heading} % $
\end{verbatim}
For \$5.
\end{document}
"""
FILM = "".join(
    f"{n + 1}\n00:00:{5 * n:02},000 --> 00:00:{5 * n + 4:02},500\n"
    f"<i>Bear {n}</i>{' &amp; cub.' if n % 3 == 2 else ''}\n\n"
    for n in range(12)
).encode()
TALK = b"""WEBVTT

NOTE not spoken

STYLE
::cue { color: red }

intro
00:01.000 --> 00:03.500 align:start
<v Roger Bear>We are here
- yes

01:00:00.000 --> 01:00:02.000
- yes
The end
"""

EVENTS = rb"""[Script Info]
Title: Bears

[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:01.00,0:00:03.50,Default,,0,0,0,,not shown
Dialogue: 0,0:00:01.00,0:00:03.50,Default,Roger Bear,0,0,0,,{\i1}We{\i0} are,\Nhere
Dialogue: 0,0:00:01.00,0:00:03.50,Default,,0,0,0,,{\p1}m 0 0 l 100 0{\p0}
Dialogue: 0,1:00:00.00,1:00:02.00,Default,,0,0,0,,The end
"""
ENTRIES = rb"""@article{bear2020,
  title = {The {G}reat {\"U}rsus of {{\O}rsted}},
  author = "Nov{\'a}k, Ji\v{r}\'{\i} and M{\"{u}}ller",
  pages = {10--20}, note = {50\% of $x^2$, see https://a.example/%20b},
}
"""

CALENDAR = rb"""BEGIN:VCALENDAR
VERSION:2.0
X-WR-CALNAME:Forest
BEGIN:VTIMEZONE
TZID:Europe/Oslo
END:VTIMEZONE
BEGIN:VEVENT
UID:1
DTSTART;TZID=Europe/Oslo:20240301T100000
DTEND:20240301T103000Z
SUMMARY:Wake the
  bears
DESCRIPTION:Honey\, berries\nand fish
ORGANIZER;CN="Bear, Ann":mailto:ann@example.org
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
END:VCALENDAR
""".replace(b"\n", b"\r\n")
CONTACTS = rb"""BEGIN:VCARD
VERSION:2.1
N:Bear;Ann;;;
FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Ann B=C3=A4=
r
item1.TEL;TYPE=HOME,voice:+47 1234
ADR;WORK:;;Den 7;Oslo;;;Norway
PHOTO;ENCODING=BASE64:AAAA
 BBBB
BDAY:20000102
END:VCARD
BEGIN:VCARD
ORG:Honey Ltd\;Co;Pots
NOTE:sweet
"""
NOTES_OF_EVERNOTE = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export3.dtd">
<en-export><note><title>Bears</title><content><![CDATA[<?xml version="1.0"?><!DOCTYPE en-note SYSTEM "x.dtd">
<en-note><div>They <b>sleep</b></div>
<div><en-todo checked="true"/>honey</div><en-media hash="1"/></en-note>]]></content>
<tag>winter</tag><tag>den</tag><resource><data encoding="base64">AAAA</data>
<resource-attributes><file-name>map.pdf</file-name></resource-attributes></resource></note>
<note><title>Fish</title><content/></note></en-export>
"""
FICTION = """<?xml version="1.0" encoding="windows-1251"?>
<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink"><description>
<title-info><author><first-name>Ann</first-name><last-name>Bear</last-name></author><book-title>On bears</book-title>
<annotation><p>A tale.</p></annotation></title-info><document-info><id>7</id></document-info></description>
<body><title><p>Bears</p></title><section id="one"><title><p>The</p><p>den</p></title>
<p>Они <emphasis>спят</emphasis>.</p>
<empty-line/><p>Honey<a l:href="#n1" type="note">1</a></p><poem><stanza><v>Roses</v><v>are red</v></stanza></poem>
<image l:href="#a.png" alt="a map"/></section></body><body name="notes"><section id="n1"><p>sweet</p></section></body>
<binary id="a.png" content-type="image/png">AAAA</binary></FictionBook>
""".encode("cp1251")
DRAWING_OF_BEARS = b"""<svg xmlns="http://www.w3.org/2000/svg"><title>Bears</title><style>text { color: red }</style>
<path d="M0 0"/><text><tspan>They</tspan><tspan>sleep</tspan></text>
<foreignObject><div xmlns="http://www.w3.org/1999/xhtml">in the den</div></foreignObject></svg>
"""


def tar(parts: Parts, mode: str = "w") -> bytes:
    """An archive of tar with files of these names, compressed according to the mode."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


FOLDER = {"notes/a.md": b"# One\n\nThe cat.\n", "b.txt": b"the dog\n", ".c/d.txt": b"hidden\n", "e.bin": b"\0"}

FILES = {
    "a.json": PACKAGE_JSON,
    "book.xml": BOOK,
    "data.xml": SCHEMA,
    "a.yml": WORKFLOW,
    "a.toml": PROJECT,
    "a.ini": b"; [no]\n[Desktop Entry]\nName=Bear\n[Action New] ; new\nName=Cub\n",
    "a.org": NOTES,
    "a.adoc": MANUAL,
    "a.tex": PAPER,
    "a.srt": FILM,
    "a.vtt": TALK,
    "a.ass": EVENTS,
    "a.ics": CALENDAR,
    "a.vcf": CONTACTS,
    "a.enex": NOTES_OF_EVERNOTE,
    "a.fb2": FICTION,
    "a.svg": DRAWING_OF_BEARS,
    "a.emlx": b"%d \n" % len(MESSAGE) + MESSAGE + b"<plist/>",
    "a.mht": b"Content-Type: text/html\n\n<h1>Bears</h1><p>They sleep.",
    "a.bib": ENTRIES,
    **{name: zipped(parts) for name, parts in PACKAGES.items()},
    "a.rtf": RICH_TEXT,
    "a.eml": MESSAGE,
    "a.mbox": MAILBOX,
    "a.zip": zipped(FOLDER),
    "a.tar": tar(FOLDER),
    "a.tgz": tar(FOLDER, "w:gz"),
    **old_office_files.FILES,
}
