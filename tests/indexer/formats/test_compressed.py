"""Compressed files of other formats."""

import bz2
import gzip
import lzma

import pytest
from hostile_files import pdf, zstandard
from read_bytes import documents
from sample_files import FILES

from indexer.formats import compressed
from indexer.formats.format import UnreadableError
from indexer.formats.registry import is_known

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("b/a.md", b"# One\n\ntext\n"),
        ("b/a.pdf", pdf(["first", "second"])),
        ("b/a.csv", "id;text\n1;Der Bär läuft\n".encode("cp1252")),
        ("b/a.jsonl", b'{"_id": 7, "text": "purr"}\n'),
        ("b/a.xlsx", FILES["a.xlsx"]),
        ("b/a.mbox", FILES["a.mbox"]),
        ("b/README", b"hello"),
        ("b/cat.1", b".TH CAT 1\n"),
        ("b/empty.csv", b""),
    ],
)
def test_a_compressed_file_is_read_like_the_file_itself(name, data, suffix):
    whole = f"{name}{suffix.upper()}"
    plain, packed = documents(name, data), documents(whole, PACK[suffix](data))
    assert [one.text for one in packed] == [one.text for one in plain]
    assert [one.id for one in packed] == [one.id.replace(name, whole) for one in plain]
    assert {one.path for one in packed} <= {whole}
    assert [(one.headings, one.pages, one.record) for one in packed] == [
        (one.headings, one.pages, one.record) for one in plain
    ]


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_damaged_file_is_refused(name, suffix):
    packed = PACK[suffix](b"text\n" + b"".join(b"the cat %d\n" % number for number in range(999)))
    for data in (packed[:-20], b"not compressed at all"):
        with pytest.raises(UnreadableError, match=r"^broken "):
            documents(f"{name}{suffix}", data)


@pytest.mark.parametrize("suffix", PACK)
def test_a_file_that_unpacks_to_too_much_is_refused(suffix, monkeypatch):
    monkeypatch.setattr(compressed, "MAX_UNPACKED", 1000)
    assert documents(f"a.txt{suffix}", PACK[suffix](b"x" * 1000))
    with pytest.raises(UnreadableError, match="unpacks to more than"):
        documents(f"a.txt{suffix}", PACK[suffix](b"x" * 1001))


@pytest.mark.parametrize("name", ["a.png.gz", "a.gz", ".gz", "a.md.gz.gz", "a.parquet.gz", "a.tar.gz.gz", "gz"])
def test_a_compressed_file_of_no_known_format_is_not_read(name):
    assert not is_known(name)
