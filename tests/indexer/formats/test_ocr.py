"""Text recognition: off by default, stored in the index, for scanned pages and images."""

import io
import json

import pytest
from built import write_files
from command import cdesearch
from hidden_libraries import run_module_without
from pdf_pages import Line, pdf_of
from PIL import Image, ImageDraw, ImageFont

from cdesearch.store.index import Index
from cdesearch.store.schema import EDGE
from indexer.formats.format import Columns, LeftOut, OpenFile, UnreadableError
from indexer.formats.registry import read


def drawn(*lines):
    """An image of lines of text, in large letters."""
    image = Image.new("RGB", (900, 80 + 70 * len(lines)), "white")
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((40, 40 + 70 * number), line, "black", ImageFont.load_default(size=40))
    return image


def saved(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def text_of(name, data, *, has_ocr=True):
    signs = []
    file = OpenFile(name, io.BytesIO(data), Columns(), LeftOut(), has_ocr=has_ocr, progress=lambda: signs.append(name))
    (document,) = read(file)
    return document, signs


def test_without_text_recognition_the_reason_offers_it():
    for name, data in (("a.pdf", saved(drawn("cats"), "PDF")), ("a.png", saved(drawn("cats"), "PNG"))):
        with pytest.raises(UnreadableError, match="`cdesearch index --ocr` reads"):
            text_of(name, data, has_ocr=False)


@pytest.mark.parametrize("data", [b"", b"cats", saved(drawn("cats"), "PNG")[:300], saved(drawn("cats"), "GIF")])
def test_a_broken_image_has_one_reason(data):
    with pytest.raises(UnreadableError, match=r"^(broken image|empty file)$"):
        text_of("a.png", data)


@pytest.mark.slow
def test_an_image_with_too_many_pixels_is_not_unpacked():
    data = saved(Image.new("1", (20_000, 20_000)), "PNG")
    assert len(data) < 100_000
    with pytest.raises(UnreadableError, match="pixels"):
        text_of("a.png", data)


@pytest.mark.slow
def test_only_the_pages_without_text_are_recognised():
    scan = drawn("The whale sings at night.", "Nobody knows why.")
    document, signs = text_of("a.pdf", saved(scan, "PDF", resolution=150))
    assert document.text.split("\n") == ["The whale sings at night.", "Nobody knows why."] and len(signs) == 1
    assert [document.text[one.offset :].startswith(one.words) for one in document.inlines] == [True, True]
    page, left, top, right, bottom = document.inlines[1].edges
    assert page == 1 and left < 0.1 * EDGE and 0.4 * EDGE < right < 0.5 * EDGE  # 360 of 900 pixels, and a margin
    assert 0.4 * EDGE < top < 0.5 * EDGE and 0.65 * EDGE < bottom < 0.8 * EDGE
    blank_and_text = pdf_of([[], [Line(50, 700, "the cat")]])
    document, signs = text_of("b.pdf", blank_and_text)
    assert document.text.strip() == "the cat" and document.pages == (0, 2) and signs == []


@pytest.mark.slow
def test_an_index_keeps_the_choice_of_text_recognition(tmp_path, tiny_checkpoint):
    docs = write_files(tmp_path / "docs", {"note.md": "the cat"})
    (docs / "photo.jpg").write_bytes(saved(drawn("A whale sings."), "JPEG"))
    run = cdesearch("index", docs, "--model", tiny_checkpoint, cwd=tmp_path)
    assert "1 document" in run.stderr and "Ignored: 1" in run.stderr
    cdesearch("index", docs, "--ocr", cwd=tmp_path)
    assert Index.open(docs).manifest.has_ocr
    (docs / "scan.pdf").write_bytes(saved(drawn("The moon is bright."), "PDF", resolution=150))
    assert "3 documents" in cdesearch("index", docs, cwd=tmp_path).stderr
    found = json.loads(cdesearch("query", "moon", "--mode", "text", "--json", "--index", docs, cwd=tmp_path).stdout)
    assert [(hit["path"], hit["page"]) for hit in found["hits"]] == [("scan.pdf", 1)]
    assert "1 document" in cdesearch("index", docs, "--no-ocr", cwd=tmp_path).stderr
    assert not Index.open(docs).manifest.has_ocr


def test_text_recognition_that_is_not_installed_is_refused_in_one_line(tmp_path):
    (tmp_path / "note.md").write_text("the cat")
    run = run_module_without("rapidocr", "cdesearch", "index", ".", "--ocr", cwd=tmp_path)
    assert run.returncode == 2 and "pip install 'cdesearch[ocr]'" in run.stderr.splitlines()[-1]
