import io
import re
import zipfile

import pytest
from pdf_pages import Line, pdf_of, stream
from PIL import Image, ImageChops
from running_server import running_server

import cdesearch
from cdesearch.errors import NotIndexedError
from cdesearch.serve import folder_files
from cdesearch.serve.security import CONTENT_SECURITY_POLICY

PLAIN = pdf_of([[Line(100, 600, "the turbine hums", size=20)], [Line(100, 700, "a gearbox")]])
TURNED = pdf_of([[Line(100, 600, "the turbine hums", size=20)]], rotate=90)
LOCK = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O ({'o' * 32}) /U ({'u' * 32}) /P -4 >> /ID [(a) (a)]".encode()
ENCRYPTED = PLAIN.replace(b"trailer\n<<", b"trailer\n<< " + LOCK)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
FORM = "/Type /XObject /Subtype /Form /BBox [0 0 600 800]"


def nested(levels=12):
    """A PDF whose page draws a form ten times, which draws another one ten times, and so on."""
    below = {
        2001 + n: stream("/X Do " * 10, f"{FORM} /Resources << /XObject << /X {2002 + n} 0 R >> >>")
        for n in range(levels)
    }
    others = {2000: stream("/X Do"), **below, 2001 + levels: stream("0 0 600 800 re f", FORM)}
    page = b"/Contents 2000 0 R /Resources << /XObject << /X 2001 0 R >> "
    return pdf_of([[]], others=others).replace(b"/Contents 10 0 R /Resources << ", page)


def png():
    file = io.BytesIO()
    Image.new("RGB", (3, 2), "teal").save(file, "png")
    return file.getvalue()


def marked(picture, least=120):
    """The box of all marks."""
    yellow = ImageChops.subtract(picture.getchannel("R"), picture.getchannel("B"))
    return yellow.point(lambda value: 255 * (value > least)).getbbox()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_checkpoint):
    """A folder beside a file that is not indexed, with what a page may and may not show."""
    root = tmp_path_factory.mktemp("pictures") / "folder"
    for name in ("docs", ".hidden", "left-out"):
        (root / name).mkdir(parents=True)
    pages = {"plain.pdf": PLAIN, "turned.pdf": TURNED, "changed.pdf": PLAIN, "locked.pdf": ENCRYPTED}
    pictures = {f"{name}/a.png": png() for name in ("docs", ".hidden", "left-out", "..")}
    others = {"docs/a.svg": SVG, "broken.pdf": b"%PDF", "../outside.pdf": PLAIN}
    for name, contents in (pages | pictures | others).items():
        (root / name).write_bytes(contents)
    (root / "docs" / "a.md").write_text(
        "![a](a.png)\n\n![b](/docs/a%2Esvg)\n\n![c](../.hidden/a.png)\n\n![d](none.png)"
    )
    for name, target in {"link.png": "docs/a.png", "out.png": "../a.png", "away": ".."}.items():
        (root / name).symlink_to(target)
    with zipfile.ZipFile(root / "packed.zip", "w") as archive:
        archive.writestr("inner.pdf", PLAIN)
    cdesearch.build(root, model=tiny_checkpoint, exclude=["left-out"]).close()
    (root / "changed.pdf").write_bytes(TURNED)
    (root / "late.png").write_bytes(png())
    with running_server([root]) as server:
        yield server


@pytest.mark.parametrize(
    ("name", "count", "size", "box"),
    [("plain.pdf", "2", (600, 800), (132, 183, 196, 202)), ("turned.pdf", "1", (800, 600), (598, 132, 617, 196))],
)
def test_a_page_is_a_picture_with_the_words_of_the_query_marked(folder, name, count, size, box):
    """In Helvetica of 20 points, "the " has a width of 33 points and "turbine" one of 61."""
    asked = {"q": "turbines", "width": size[0]}
    response = folder.get(f"pages/{name}", params=asked)
    assert (response.headers["content-type"], response.headers["page-count"]) == ("image/png", count)
    picture = Image.open(io.BytesIO(response.content))
    assert picture.size == size
    marks = marked(picture)
    assert all(abs(found - expected) <= 2 for found, expected in zip(marks, box, strict=True)), marks
    assert abs(int(response.headers["middle-mark"]) - 100 * (box[1] + box[3]) / 2 / size[1]) <= 1
    known = {"If-None-Match": response.headers["etag"]}
    assert folder.get(f"pages/{name}", params=asked, headers=known).status_code == 304
    assert folder.get(f"pages/{name}", params={**asked, "q": "hum"}, headers=known).status_code == 200


@pytest.mark.parametrize("pdf", [pdf_of([[]]), pdf_of([[]], rotate=90)], ids=["upright", "turned"])
def test_the_words_of_the_query_are_marked_on_the_lines_of_a_scanned_page(pdf):
    lines = [["a turbine", 0.1, 0.2, 0.55, 0.25], ["hums", 0.1, 0.3, 0.55, 0.35]]
    picture = Image.open(io.BytesIO(folder_files.draw_page(pdf, 1, 1000, ["turbin"], "", lines)[0]))
    box = [edge * size for edge, size in zip((0.2, 0.2, 0.55, 0.25), picture.size * 2, strict=True)]
    assert all(abs(found - expected) <= 4 for found, expected in zip(marked(picture), box, strict=True)), box


QUOTED = pdf_of([[Line(100, 600, "It hums. The big tur-", size=20), Line(100, 570, "bine turns. So", size=20)]])
SCANNED = [["It hums. The big tur", 0.17, 0.225, 0.47, 0.25], ["bine turns. So", 0.17, 0.262, 0.37, 0.287]]


@pytest.mark.parametrize(("pdf", "lines"), [(QUOTED, []), (pdf_of([[]]), SCANNED)], ids=["text", "scan"])
def test_a_quotation_is_marked_as_a_whole(pdf, lines):
    """In Helvetica of 20 points, "It hums. " has a width of 77 points and "bine turns." one of 99."""
    picture = Image.open(io.BytesIO(folder_files.draw_page(pdf, 1, 600, [], 'The "big" turbine turns.', lines)[0]))
    left, top, right, bottom = marked(picture, least=30)
    assert left < 105 and 165 < top < 205 and 260 < right < 300 and 225 < bottom < 240
    before = picture.crop((0, 0, 165, 205))
    assert marked(before, least=30) is None, "the sentence before it is not marked"


REFUSED = {
    "pages": "changed.pdf locked.pdf broken.pdf docs/a.md packed.zip/inner.pdf no.pdf plain.pdf?page=3 ../outside.pdf"
    " ..%2foutside.pdf away/outside.pdf %00.pdf",
    "images": ".hidden/a.png left-out/a.png link.png out.png away/a.png late.png ..%2fa.png docs/..%2f..%2fa.png"
    " docs/a.md plain.pdf %2fetc%2fpasswd",
}


@pytest.mark.parametrize("path", [f"{kind}/{name}" for kind, names in REFUSED.items() for name in names.split()])
def test_nothing_else_is_a_picture(folder, path):
    assert folder.get(path).status_code == 404


def test_a_document_has_the_addresses_of_those_images_alone_that_are_in_the_folder(folder):
    html = "".join(chunk["html"] for chunk in folder.get("documents/docs/a.md").json()["chunks"])
    found = re.findall(r'<img(?: src="(.*?)")? alt="(.)">', html)
    assert found == [("a.png", "a"), ("/docs/a%2Esvg", "b"), ("", "c"), ("", "d")]


def test_an_image_of_the_folder_runs_no_scripts(folder):
    picture = folder.get("images/docs/a.png")
    assert (picture.content, picture.headers["content-type"]) == (png(), "image/png")
    drawing = folder.get("images/docs/a.svg")
    assert (drawing.content, drawing.headers["content-type"]) == (SVG, "image/svg+xml")
    assert drawing.headers["content-security-policy"].endswith("; sandbox")
    assert drawing.headers["x-content-type-options"] == "nosniff"
    assert folder.get("files").headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    known = folder.get("images/docs/a.svg", headers={"If-None-Match": drawing.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    "pdf", [b"", PLAIN[:700], ENCRYPTED, nested()], ids=["empty", "broken", "encrypted", "endless"]
)
def test_a_file_that_cannot_be_drawn_ends_only_the_process_that_draws(monkeypatch, pdf):
    monkeypatch.setattr(folder_files, "SECONDS", 3)
    with pytest.raises(NotIndexedError, match="Page 1 cannot be drawn"):
        folder_files.draw_page(pdf, 1, 600, ["turb"], "", [])


@pytest.mark.parametrize("paper", [b"[0 0 1e9 1e9]", b"[0 0 0 0]", b"[0 0 1 99999]", b"[0 0 9999 1]"])
def test_paper_of_any_size_has_a_limited_number_of_pixels(paper):
    picture, *_ = folder_files.draw_page(PLAIN.replace(b"[0 0 600 800]", paper.ljust(13)), 1, 2000, ["turb"], "", [])
    width, height = Image.open(io.BytesIO(picture)).size
    assert width * height < 10_000_000
