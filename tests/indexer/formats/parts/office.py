"""Parts of documents of Word, PowerPoint, Excel and OpenDocument, of old ones, and of Rich Text Format and archives."""

from collections.abc import Callable
from functools import partial

from hostile_files import WORD, docx
from old_office_files import (
    BOXES,
    COMMENTS,
    MARGINS,
    NOTES,
    TEXT,
    attached,
    excel,
    excel_comment,
    excel_record,
    excel_shape,
    excel_text,
    outlook,
    powerpoint,
    word,
)
from sample_files import (
    DRAWING,
    OPEN,
    SHEET,
    open_document,
    presentation,
    relations,
    shape,
    slide,
    tar,
    workbook,
    zipped,
)

from parts.part import Part

Builders = dict[str, Callable[[str], bytes]]


def parts(kind: str, suffix: str, read: Builders, left_out: Builders | None = None) -> list[Part]:
    """The parts of a format, by their names."""
    return [
        *(Part(kind, name, suffix, build) for name, build in read.items()),
        *(Part(kind, name, suffix, build, is_read=False) for name, build in (left_out or {}).items()),
    ]


def run(text: str, tag: str = "t", properties: str = "") -> str:
    """A run of a Word document."""
    return f"<w:r>{properties}<w:{tag}>{text}</w:{tag}></w:r>"


def body(template: str) -> Callable[[str], bytes]:
    """A Word document with a body in which `{}` is a run of a sentence, and `[]` its text."""
    return lambda sentence: docx(template.replace("{}", run(sentence)).replace("[]", sentence))


def paragraph(template: str) -> Callable[[str], bytes]:
    """A Word document with a paragraph between two others."""
    return body(f"<w:p>{run('First.')}</w:p><w:p>{template}</w:p><w:p>{run('Last.')}</w:p>")


def beside(kind: str, template: str, inside: str = "") -> Callable[[str], bytes]:
    """A Word document with a further part, to which `inside` refers in a paragraph."""

    def build(sentence: str) -> bytes:
        extra = {
            "word/_rels/document.xml.rels": relations((kind, "other.xml")),
            "word/other.xml": template.replace("{}", run(sentence)).replace("[]", sentence).encode(),
        }
        return docx(f"<w:p>{run('First.')}{inside}</w:p><w:p>{run('Last.')}</w:p>", extra)

    return build


def imported(sentence: str) -> bytes:
    """A Word document that imports the HTML in another part."""
    page = f"MIME-Version: 1.0\nContent-Type: text/html\n\n<p>{sentence}"
    extra = {"word/_rels/document.xml.rels": relations(("aFChunk", "a.mht")), "word/a.mht": page.encode()}
    return docx('<w:altChunk r:id="a" xmlns:r="urn:r"/>', extra)


def note(kind: str, *, is_referred_to: bool = True) -> Callable[[str], bytes]:
    """A Word document with a footnote, endnote or comment."""
    template = f'<w:{kind}s {WORD}><w:{kind} w:id="2"><w:p>{{}}</w:p></w:{kind}></w:{kind}s>'
    return beside(f"{kind}s", template, f'<w:r><w:{kind}Reference w:id="2"/></w:r>' if is_referred_to else "")


PARAGRAPH = "<a:p><a:r><a:t>[]</a:t></a:r></a:p>"
CHART = f'<c:chartSpace xmlns:c="urn:c" {DRAWING}><c:chart><c:title>{PARAGRAPH}</c:title></c:chart></c:chartSpace>'
DIAGRAM = f'<d:dataModel xmlns:d="urn:d" {DRAWING}><d:ptLst><d:pt><d:t>{PARAGRAPH}</d:t></d:pt></d:ptLst></d:dataModel>'
BOX = "<w:r><w:pict><w:txbxContent><w:p>{}</w:p></w:txbxContent></w:pict></w:r>"

WORD_PARTS = parts(
    "Word (.docx)",
    ".docx",
    {
        "paragraphs": paragraph("{}"),
        "tables": body("<w:tbl><w:tr><w:tc><w:p>{}</w:p></w:tc></w:tr></w:tbl>"),
        "inserted text": paragraph('<w:ins w:id="1">{}</w:ins>'),
        "moved text": paragraph('<w:moveTo w:id="1">{}</w:moveTo>'),
        "content controls": paragraph("<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>"),
        "content controls around paragraphs": body("<w:sdt><w:sdtContent><w:p>{}</w:p></w:sdtContent></w:sdt>"),
        "content controls around cells": body(
            "<w:tbl><w:tr><w:sdt><w:sdtContent><w:tc><w:p>{}</w:p></w:tc></w:sdtContent></w:sdt></w:tr></w:tbl>"
        ),
        "smart tags": paragraph("<w:smartTag>{}</w:smartTag>"),
        "links": paragraph("<w:hyperlink>{}</w:hyperlink>"),
        "simple fields": paragraph('<w:fldSimple w:instr="REF x">{}</w:fldSimple>'),
        "complex fields": paragraph(
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>REF x</w:instrText></w:r>{}'
        ),
        "footnotes": note("footnote"),
        "endnotes": note("endnote"),
        "comments": note("comment"),
        "replies to comments": note("comment", is_referred_to=False),
        "headers": beside("header", f"<w:hdr {WORD}><w:p>{{}}</w:p></w:hdr>"),
        "footers": beside("footer", f"<w:ftr {WORD}><w:p>{{}}</w:p></w:ftr>"),
        "text boxes": paragraph(BOX),
        "text boxes in tables": body(f"<w:tbl><w:tr><w:tc><w:p>{BOX}</w:p></w:tc></w:tr></w:tbl>"),
        "text boxes in headers": beside("header", f"<w:hdr {WORD}><w:p>{BOX}</w:p></w:hdr>"),
        "alternative texts": paragraph('<w:r><w:drawing><wp:docPr xmlns:wp="urn:wp" descr="[]"/></w:drawing></w:r>'),
        "titles of pictures": paragraph(
            '<w:r><w:drawing><d:docPr xmlns:d="urn:d" title="[]" descr="x"/></w:drawing></w:r>'
        ),
        "equations": paragraph('<m:oMath xmlns:m="urn:m"><m:r><m:t>[]</m:t></m:r></m:oMath>'),
        "charts": beside("chart", CHART),
        "SmartArt": beside("diagramData", DIAGRAM),
        "imported HTML": imported,
    },
    {
        "deleted text": paragraph('<w:del w:id="1"><w:r><w:delText>[]</w:delText></w:r></w:del>'),
        "text moved away": paragraph('<w:moveFrom w:id="1">{}</w:moveFrom>'),
        "hidden text": paragraph(run("[]", properties="<w:rPr><w:vanish/></w:rPr>")),
        "instructions of fields": paragraph("<w:r><w:instrText>[]</w:instrText></w:r>"),
    },
)


def on_slide(template: str, kind: str = "", target: str = "") -> Callable[[str], bytes]:
    """A presentation of one slide, to which a further part belongs."""

    def build(sentence: str) -> bytes:
        extra = {
            "ppt/slides/_rels/slide1.xml.rels": relations((kind, "../other.xml")),
            "ppt/other.xml": target.replace("[]", sentence).encode(),
        }
        first = slide(shape("Title", "title") + template.replace("[]", sentence))
        return zipped(presentation([first, slide(shape("Last"))], extra if kind else {}))

    return build


PICTURE = '<p:pic><p:nvPicPr><p:cNvPr id="2" name="x" descr="[]"/></p:nvPicPr></p:pic>'
MATHS = '<m:oMath xmlns:m="urn:m"><m:r><m:t>[]</m:t></m:r></m:oMath>'
CELL = f"<a:tbl><a:tr><a:tc><a:txBody>{PARAGRAPH}</a:txBody></a:tc></a:tr></a:tbl>"
MODERN = f'<c:cmLst xmlns:c="urn:c" {DRAWING}><c:cm><c:replyLst><c:reply><c:txBody>{PARAGRAPH}</c:txBody></c:reply>'

POWERPOINT_PARTS = parts(
    "PowerPoint (.pptx)",
    ".pptx",
    {
        "titles": on_slide(shape("[]", "ctrTitle")),
        "shapes": on_slide(shape("[]")),
        "groups": on_slide(f"<p:grpSp><p:grpSp>{shape('[]')}</p:grpSp></p:grpSp>"),
        "tables": on_slide(f"<p:graphicFrame>{CELL}</p:graphicFrame>"),
        "footers": on_slide(shape("[]", "ftr")),
        "notes": on_slide("", "notesSlide", slide(shape("[]", "body"), "notes").decode()),
        "comments": on_slide("", "comments", '<p:cmLst xmlns:p="urn:p"><p:cm><p:text>[]</p:text></p:cm></p:cmLst>'),
        "replies to comments": on_slide("", "comments", f"{MODERN}</c:replyLst></c:cm></c:cmLst>"),
        "alternative texts": on_slide(PICTURE),
        "equations": on_slide(f"<p:sp><p:txBody><a:p>{MATHS}</a:p></p:txBody></p:sp>"),
        "charts": on_slide("", "chart", CHART),
        "SmartArt": on_slide("", "diagramData", DIAGRAM),
    },
    {"masters": on_slide("", "slideLayout", slide(shape("[]"), "sldLayout").decode())},
)


def sheet(rows: str, targets: dict[str, str] | None = None, after: str = "") -> Callable[[str], bytes]:
    """A workbook of one sheet, to which further parts belong; "chart" belongs to "drawing"."""

    def build(sentence: str) -> bytes:
        found = workbook({"Sheet": rows.replace("[]", sentence)})
        name = "xl/worksheets/sheet1.xml"
        found[name] = found[name].replace(b"</sheetData>", b"</sheetData>" + after.replace("[]", sentence).encode())
        kinds = [kind for kind in targets or {} if kind != "chart"]
        found["xl/worksheets/_rels/sheet1.xml.rels"] = relations(*((kind, f"../{kind}.xml") for kind in kinds))
        found["xl/_rels/drawing.xml.rels"] = relations(("chart", "chart.xml"))
        return zipped(
            found | {f"xl/{kind}.xml": data.replace("[]", sentence).encode() for kind, data in (targets or {}).items()}
        )

    return build


TABLE = '<row r="1"><c r="A1" t="str"><v>Name</v></c></row><row r="9"><c r="B9"><v>7</v></c></row>'
ANCHOR = "<d:oneCellAnchor><d:from><d:col>1</d:col><d:row>4</d:row></d:from>{}</d:oneCellAnchor>"
DRAWN = f'<d:wsDr xmlns:d="urn:d" {DRAWING}>{ANCHOR}</d:wsDr>'
THREAD = '<ThreadedComments><threadedComment ref="A1"><text>[]</text></threadedComment></ThreadedComments>'
COMMENT = (
    f'<comments {SHEET}><commentList><comment ref="B9"><text><r><t>[]</t></r></text></comment></commentList></comments>'
)

EXCEL_PARTS = parts(
    "Excel (.xlsx)",
    ".xlsx",
    {
        "cells": sheet('<row><c t="inlineStr"><is><t>[]</t></is></c></row>'),
        "results of formulas": sheet('<row><c t="str"><f>A1</f><v>[]</v></c></row>'),
        "comments": sheet(TABLE, {"comments": COMMENT}),
        "threaded comments": sheet(TABLE, {"threadedComment": THREAD}),
        "headers": sheet(
            TABLE, after="<headerFooter><oddHeader>&amp;L&amp;12[]&amp;R&amp;P</oddHeader></headerFooter>"
        ),
        "text boxes": sheet(TABLE, {"drawing": DRAWN.format(f"<d:sp><d:txBody>{PARAGRAPH}</d:txBody></d:sp>")}),
        "alternative texts": sheet(TABLE, {"drawing": DRAWN.format('<d:pic><d:cNvPr descr="[]"/></d:pic>')}),
        "charts": sheet(TABLE, {"drawing": DRAWN.format("<d:graphicFrame/>"), "chart": CHART}),
    },
    {"formulas": sheet('<row><c><f>"[]"</f><v>7</v></c></row>')},
)


def opened(kind: str, template: str, styles: str = "") -> Callable[[str], bytes]:
    """A document in OpenDocument, with headers and footers in `styles`."""

    def build(sentence: str) -> bytes:
        found = open_document(kind, template.replace("[]", sentence))
        page = f"<a {OPEN} xmlns:style='urn:s'><style:master-page>{styles}</style:master-page></a>"
        chart = open_document("chart", OPEN_CHART.replace("[]", sentence))["content.xml"]
        return zipped({**found, "styles.xml": page.replace("[]", sentence).encode(), "Object 1/content.xml": chart})

    return build


P = "<text:p>[]</text:p>"
REMARK = f"<office:annotation><dc:creator>Ann</dc:creator>{P}</office:annotation>"
FRAME = f"<draw:frame><draw:text-box>{P}</draw:text-box></draw:frame>"
ALTERNATIVE = '<draw:frame><draw:image/><svg:desc xmlns:svg="urn:svg">[]</svg:desc></draw:frame>'
CHART_FRAME = '<draw:frame><draw:object xmlns:x="urn:x" x:href="./Object%201"/><draw:image/></draw:frame>'
OPEN_CHART = f'<c:chart xmlns:c="urn:c"><c:title>{P}</c:title></c:chart>'
CHANGES = f"<text:tracked-changes><text:deletion>{P}</text:deletion></text:tracked-changes>"
ROW = "<table:table-row><table:table-cell>{}</table:table-cell></table:table-row>"
text = partial(opened, "text")
slides = partial(opened, "presentation")


def cells(inside: str, before: str = "", styles: str = "") -> Callable[[str], bytes]:
    """A spreadsheet in OpenDocument with one cell."""
    sheets = f'<table:table table:name="Sheet">{before}{ROW.format(inside)}</table:table>'
    return opened("spreadsheet", sheets, styles)


OPEN_PARTS = [
    *parts(
        "OpenDocument text (.odt)",
        ".odt",
        {
            "paragraphs": text(P),
            "lists": text(f"<text:list><text:list-item>{P}</text:list-item></text:list>"),
            "tables": text(f"<table:table>{ROW.format(P)}</table:table>"),
            "inserted text": text("<text:p><text:change-start/>[]<text:change-end/></text:p>"),
            "footnotes": text(f"<text:p>a<text:note><text:note-body>{P}</text:note-body></text:note>b</text:p>"),
            "comments": text(f"<text:p>a{REMARK}b</text:p>"),
            "headers": text("<text:p>a</text:p>", f"<style:header>{P}</style:header>"),
            "footers": text("<text:p>a</text:p>", f"<style:footer-left>{P}</style:footer-left>"),
            "text boxes": text(f"<text:p>a{FRAME}b</text:p>"),
            "alternative texts": text(f"<text:p>a{ALTERNATIVE}b</text:p>"),
            "charts": text(f"<text:p>a{CHART_FRAME}b</text:p>"),
        },
        {"deleted text": text(f"{CHANGES}<text:p>a</text:p>")},
    ),
    *parts(
        "OpenDocument spreadsheet (.ods)",
        ".ods",
        {
            "cells": cells(P),
            "comments": cells(f"{REMARK}<text:p>a</text:p>"),
            "comments on empty cells": cells(REMARK),
            "text boxes": cells("<text:p>a</text:p>", f"<table:shapes>{FRAME}</table:shapes>"),
            "footers": cells("<text:p>a</text:p>", styles=f"<style:footer><style:a>{P}</style:a></style:footer>"),
            "charts": cells(f"<text:p>a</text:p>{CHART_FRAME}"),
        },
        {"deleted text": opened("spreadsheet", f'<table:tracked-changes>{P}</table:tracked-changes><table:table/>')},
    ),
    *parts(
        "OpenDocument presentation (.odp)",
        ".odp",
        {
            "text boxes": slides(f"<draw:page>{FRAME}</draw:page>"),
            "shapes": slides(f"<draw:page><draw:g><draw:custom-shape>{P}</draw:custom-shape></draw:g></draw:page>"),
            "comments": slides(f"<draw:page>{REMARK}</draw:page>"),
            "notes": slides(f"<draw:page><presentation:notes>{FRAME}</presentation:notes></draw:page>"),
            "alternative texts": slides(f"<draw:page>{ALTERNATIVE}</draw:page>"),
            "footers": slides("<presentation:footer-decl>[]</presentation:footer-decl><draw:page/>"),
            "charts": slides(f"<draw:page>{CHART_FRAME}</draw:page>"),
        },
        {"masters": slides("<draw:page/>", FRAME)},
    ),
]  # fmt: skip


def rich(template: str) -> Callable[[str], bytes]:
    """A document in Rich Text Format."""
    return lambda sentence: (r"{\rtf1\ansi\pard First " + template.replace("[]", sentence) + r" end.\par}").encode()


RICH_PARTS = parts(
    "Rich Text (.rtf)",
    ".rtf",
    {
        "paragraphs": rich("[]"),
        "tables": rich(r"\par\trowd\intbl [] \cell\row\pard"),
        "links": rich(r"{\field{\*\fldinst HYPERLINK x}{\fldrslt []}}"),
        "headers": rich(r"{\headerf\pard [] \par}"),
        "footers": rich(r"{\footer\pard [] \par}"),
        "footnotes": rich(r"{\footnote\pard []}"),
        "footnotes of LibreOffice": rich(r"{\super\chftn{\*\footnote\chftn\pard\plain {[]}}}"),
        "comments": rich(r"{\*\atnid A}{\*\atnauthor Ann}\chatn{\*\annotation{\*\atndate 1}\pard []}"),
        "text boxes": rich(r"{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt\pard [] \par}}}"),
        "inserted text": rich(r"{\revised\revauth1 []}"),
    },
    {"deleted text": rich(r"{\deleted\revauthdel1 []}"), "hidden text": rich(r"{\v []}\v more\v0 ")},
)

BEFORE = "First.\r"
OLD_PARTS = [
    *parts(
        "Word 97 to 2003 (.doc)",
        ".doc",
        {
            "paragraphs": lambda sentence: word({TEXT: f"{BEFORE}{sentence}\r"}),
            "footnotes": lambda sentence: word({TEXT: BEFORE, NOTES: f"\x02 {sentence}\r"}),
            "headers": lambda sentence: word({TEXT: BEFORE, MARGINS: f"{sentence}\r\r{sentence}\r"}),
            "comments": lambda sentence: word({TEXT: BEFORE, COMMENTS: f"\x05{sentence}\r"}),
            "text boxes": lambda sentence: word({TEXT: BEFORE, BOXES: f"{sentence}\r"}),
            "results of fields": lambda sentence: word({TEXT: f"\x13 REF x \x14{sentence}\x15\r"}),
        },
        {
            "deleted text": lambda sentence: word({TEXT: f"{BEFORE}{sentence}\r"}, sentence),
            "instructions of fields": lambda sentence: word({TEXT: f"\x13 {sentence} \x14a\x15\r"}),
        },
    ),
    *parts(
        "PowerPoint 97 to 2003 (.ppt)",
        ".ppt",
        {
            "titles": lambda sentence: powerpoint(title=sentence),
            "shapes": lambda sentence: powerpoint(box=sentence),
            "notes": lambda sentence: powerpoint(notes=sentence),
            "comments": lambda sentence: powerpoint(comment=sentence),
            "footers": lambda sentence: powerpoint(footer=sentence),
        },
        {"deleted slides": lambda sentence: powerpoint(deleted=sentence)},
    ),
    *parts(
        "Excel 97 to 2003 (.xls)",
        ".xls",
        {
            "cells": lambda sentence: excel(["Name", sentence]),
            "comments": lambda sentence: excel(["Name"], excel_comment(3, 1, sentence)),
            "text boxes": lambda sentence: excel(["Name"], excel_shape(1, sentence)),
            "headers": lambda sentence: excel(["Name"], excel_record(0x14, excel_text(f"&L{sentence}&R&P"))),
        },
    ),
    *parts(
        "Outlook (.msg)",
        ".msg",
        {
            "subject": lambda sentence: outlook({"0037": sentence}),
            "text": lambda sentence: outlook({"0037": "a", "1000": sentence}),
            "HTML": lambda sentence: outlook({"0037": "a", "1013": f"<html><p>{sentence}</html>".encode()}),
            "attachments": lambda sentence: outlook({"0037": "a"}, attached("a.md", sentence.encode())),
            "names": lambda sentence: outlook({"0037": "a", "0C1A": sentence}),
        },
    ),
]  # fmt: skip


def in_tar(name: str, mode: str = "w") -> Callable[[str], bytes]:
    """An archive of tar with one file."""
    return lambda sentence: tar({name: sentence.encode()}, mode)


ARCHIVE_PARTS = [
    *parts(
        "Archives (.zip)",
        ".zip",
        {
            "text files": lambda sentence: zipped({"notes/a.md": sentence.encode()}),
            "documents": lambda sentence: zipped({"a/a.docx": docx(f"<w:p>{run(sentence)}</w:p>")}),
            "text of unknown formats": lambda sentence: zipped({"a.tmpl": sentence.encode()}),
            "text without suffix": lambda sentence: zipped({"NOTES": sentence.encode()}),
        },
        {
            "hidden files": lambda sentence: zipped({"a.md": b"a", ".b/a.md": sentence.encode()}),
            "installed packages": lambda sentence: zipped({"a.md": b"a", "node_modules/a.md": sentence.encode()}),
            "archives": lambda sentence: zipped({"a.md": b"a", "b.zip": zipped({"a.md": sentence.encode()})}),
        },
    ),
    Part("Archives (.tar)", "text files", ".tar", in_tar("./notes/a.md")),
    Part("Archives (.tar)", "text files with the root in their names", ".tar", in_tar("/home/notes/a.md")),
    Part("Archives (.tar)", "compressed by gzip", ".tar.gz", in_tar("a.md", "w:gz")),
    Part("Archives (.tar)", "compressed by gzip with one suffix", ".tgz", in_tar("a.md", "w:gz")),
    Part("Archives (.tar)", "compressed by bzip2", ".tar.bz2", in_tar("a.md", "w:bz2")),
    Part("Archives (.tar)", "compressed by xz", ".tar.xz", in_tar("a.md", "w:xz")),
]

PARTS = [
    *WORD_PARTS, *POWERPOINT_PARTS, *EXCEL_PARTS, *OPEN_PARTS, *RICH_PARTS, *OLD_PARTS, *ARCHIVE_PARTS
]  # fmt: skip
