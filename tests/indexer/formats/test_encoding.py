# ruff: noqa: RUF001 (letters of other scripts are what is tested)
import importlib.util
import marshal
import pathlib
import random
import re
import sys
import zlib
from base64 import b64encode, encodebytes

import pytest
from read_bytes import document, read_bytes

from indexer.formats.encoding import decode
from indexer.formats.format import UnreadableError

GERMAN = "Der Bär läuft über die Straße und grüßt die Vögel.\n"
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах.\n"
CHINESE = "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。\n"
JAPANESE = "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\n"


def text_of(name, data):
    return document(name, data).text


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_or_the_nuls_of_utf16_show_the_encoding(codec):
    assert decode(f"id;text\n{GERMAN}{CHINESE}".encode(codec)) == f"id;text\n{GERMAN}{CHINESE}"


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (GERMAN, "cp1252"),
        ("He said “hello” – it’s fine…", "cp1252"),
        ("Müller", "latin-1"),
        ("def f():  # Größe der Datei\n    return 1\n" * 3, "latin-1"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp866"),
        ("สัญญาลงนามวันจันทร์ จะคืนในฤดูใบไม้ผลิ\n" * 3, "cp874"),
        (CHINESE, "gb18030"),
        (JAPANESE, "shift_jis"),
        ("Nom;Ville;Montant\nHélène Lefèvre;Orléans;1 250,50\nFrançois Noël;Besançon;99,90\n", "cp1252"),
        ("Turnover (£m) and £bn at the café, 3ºA, T±0.5 K\n", "cp1252"),
        ("Az első idő után a főváros felé\n", "cp1250"),
        ("Nome;Cidade\nJoão Gonçalves;São Paulo\n", "cp1252"),
        ("Hej! Hyresavtalet skrevs under på måndag. Vi hör av oss, Åsa\n", "cp1252"),
        ("Navn;By\nSøren Kjær;Århus\nMüller;Köln\nHélène;Málaga\n", "cp1252"),  # of several languages
        ("Kira sözleşmesi pazartesi günü İstanbul'da imzalandı.\n", "cp1254"),
        ("Imię;Miasto\nŁukasz Wiśniewski;Łódź\n", "cp1250"),
        ("Cześć, umowa została podpisana, ktoś inny dostanie mieszkanie.\n", "iso8859-2"),
        ("氏名,市区町村,金額\n山田太郎,横浜市,1250\n佐藤花子,札幌市,999\n", "cp932"),
        ("이름,도시,금액\n김철수,서울,1250\n이영희,부산,999\n", "cp949"),
        (
            "Zażółć gęślą jaźń. Wszyscy ludzie rodzą się wolni i równi w swojej godności i prawach. "
            "Są oni obdarzeni rozumem i sumieniem.\n" * 3,
            "cp1250",
        ),
    ],
)
def test_a_legacy_encoding_is_detected(text, codec):
    assert decode(text.encode(codec)) == text


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ("<meta charset=iso-8859-2>", "cp1250"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">', "cp1251"),
        ("<meta charset='iso-2022-jp'>", "iso-2022-jp"),
        ("<meta charset=latin1>", "cp1252"),
    ],
)
def test_a_page_is_decoded_as_it_declares(head, codec):
    word = {"cp1250": "Ťáž", "cp1251": "Да", "iso-2022-jp": "平等", "cp1252": "“é”"}[codec]
    codec = "iso8859-2" if codec == "cp1250" else codec
    assert text_of("a.html", f"<head>{head}</head><p>{word}</p>".encode(codec)) == word


def test_source_code_is_decoded_as_it_declares():
    assert "Да" in text_of("a.py", "# -*- coding: koi8-r -*-\nx = 'Да'\n".encode("koi8-r"))
    assert "Да" in text_of("a.txt", "Да\n# vim: set fileencoding=cp1251 :\n".encode("cp1251"))
    assert "Да" in text_of("a.xml", "<?xml version='1.0' encoding='windows-1251'?>\n<a>Да</a>\n".encode("cp1251"))


def test_a_wrong_declaration_does_not_damage_utf8():
    assert text_of("a.html", "<meta charset=latin1><p>漢字 é</p>".encode()) == "漢字 é"


@pytest.mark.parametrize("row", [b"1,the\0cat", b"1,the\0\0\0 cat\0\0", b"\x001\0,the\0 cat, and the dog"])
@pytest.mark.parametrize("n_rows", [1, 99])
def test_lines_with_some_nuls_are_read_and_not_decoded_as_chinese(row, n_rows):
    documents = [*read_bytes("a.csv", b"id,text\n" + (row + b"\n") * n_rows)]
    assert len(documents) == n_rows and all(one.text.split()[:2] == ["the", "cat"] for one in documents), documents


def test_one_damaged_byte_does_not_lose_a_text_in_utf8():
    assert decode((GERMAN * 9).encode() + b"\xff").startswith(GERMAN)


@pytest.mark.parametrize("size", [20, 100, 1000, 20_000])
def test_noise_is_never_read_as_text(size):
    for number in range(20):
        with pytest.raises(UnreadableError):
            decode(random.Random(number).randbytes(size))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16-le", "cp1252"])
def test_a_table_is_read_whatever_its_delimiter_and_encoding(delimiter, codec):
    row = delimiter.join(["7", '"Bär; a, b | c"', "Größe"])
    data = (delimiter.join(["id", "text", "title"]) + "\r\n" + row + "\r\n").encode(codec)
    found = document("a.csv", data)
    assert (found.record, found.text, found.title) == ("7", "Bär; a, b | c", "Größe")


def test_a_late_accent_in_a_long_table_is_read():
    data = (
        b"id,text\n"
        + (b"1,the cat" + b" and the cat" * 9 + b"\n") * 20_000
        + "2,Das Café öffnet früh\n".encode("cp1252")
    )
    *_, last = read_bytes("a.csv", data)
    assert last.text == "Das Café öffnet früh"


LOG = "2024-03-01 INFO Übergabe an Lager Böblingen bestätigt\n"
LATIN = "2024-03-29 WARN Sonde Göttingen antwortet nicht\n"
CYRILLIC = "2024-03-29 WARN Датчик температуры не отвечает\n"


@pytest.mark.parametrize(
    ("others", "codec"), [(LATIN * 4, "latin-1"), (CYRILLIC * 4, "cp1251"), ("ÄÖÜ\n", "cp1252"), (LATIN * 40, "cp1252")]
)
def test_each_line_of_a_log_of_several_programs_has_its_own_encoding(others, codec):
    data = (LOG * 5).encode() + others.encode(codec) + LOG.encode()
    assert decode(data) == LOG * 5 + others + LOG
    assert text_of("a.csv", b'id,text\n1,"' + data + b'"\n') == LOG * 5 + others + LOG


def test_a_line_that_is_cut_within_a_character_stays_utf8():
    assert decode((CHINESE * 9).encode() + CHINESE[:9].encode()[:-1] + b"\nend\n").endswith(
        CHINESE[:8] + "\ufffd\nend\n"
    )


def test_one_nul_in_the_first_line_of_a_short_text_is_a_blank():
    assert text_of("a.log", b"oak\0tree\n") == "oak tree\n"
    assert text_of("a.jsonl", b'{"text": "oak\0tree"}\n') == "oak tree"


@pytest.mark.parametrize("data", [bytes(4096) + LOG.encode() * 9, LOG.encode() * 9 + bytes(64) + LOG.encode() * 9])
def test_a_log_with_a_block_of_nuls_is_read(data):
    assert text_of("power.log", data).split() == (LOG * (data.count(b"\n"))).split()


@pytest.mark.parametrize(
    "data",
    [
        pathlib.Path(sys.executable).read_bytes()[:99_999],
        importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile("def f(x):\n    return x", "a.py", "exec")),
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\x06" + zlib.compress(random.Random(0).randbytes(999)),
        b"notes/a.md" + bytes(90) + b"0000644\x000001750\x000001750\x0000000000123\0" + LOG.encode() * 9,
    ],
    ids=["program", "pyc", "png", "tar"],
)
def test_a_binary_file_is_not_text(data):
    with pytest.raises(UnreadableError, match="binary"):
        decode(data)


PIXELS = b64encode(random.Random(0).randbytes(15_000)).decode()
IN_LINES = encodebytes(random.Random(0).randbytes(1_100)).decode()
IMAGE = f"data:image/png;base64,{PIXELS}"


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("a.md", f"before\n\n![den]({IMAGE})\nafter", "before\n\n![den](…)\nafter"),
        ("a.html", f"<p>before <img src='{IMAGE}'>after</p>", "before after"),
        ("a.css", f"a {{\n background: url({IMAGE});\n}}\n", "a {\n background: url(…);\n}\n"),
        ("a.json", f'{{"image": "{IMAGE}", "key": "{PIXELS[:2000]}"}}', "image: …\nkey: …"),
        ("a.json", '{"image": "%s"}' % IMAGE.replace("/", "\\/"), "image: …"),  # noqa: UP031 (braces)
        ("a.jsonl", f'{{"text": "see {IMAGE} there"}}', "see … there"),
        ("a.csv", f"text\nsee {IMAGE} there\n", "see … there"),
        ("a.txt", f"key {PIXELS[:1000]}\nend {PIXELS[:900]}", f"key …\nend {PIXELS[:900]}"),
        ("a.txt", f"before\n{IN_LINES}after", f"before\n…{re.sub('.', '', IN_LINES)}after"),
        ("a.txt", "data:text/plain;base64,aG9uZXk=", "data:text/plain;base64,aG9uZXk="),
        (
            "a.md",
            f"![a](data:image/png;base64,\n{'iVBORw0KGgoA' * 5}\n{'iVBO' * 19}\niVBO=) b\nc",
            "![a](…\n\n\n) b\nc",
        ),
        ("a.md", f'<img src="data:image/svg+xml;utf8,<svg>{"<p d=1>" * 99}</svg>"> b', '<img src="…"> b'),
        ("a.md", f"![den](data:image/svg+xml,{'%3Csvg%20x%3D%22' * 40})", "![den](…)"),
    ],
)
def test_pictures_in_a_text_and_other_data_are_left_out(name, text, read):
    assert text_of(name, text.encode()) == read


def test_escapes_of_a_resource_bundle_are_letters():
    assert text_of("a.properties", b"greeting=Gr\\u00fc\\u00DFe\\u000a \\uZZ") == "greeting=Grüße\\u000a \\uZZ"
