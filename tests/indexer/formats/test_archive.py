"""Archives: the paths of the files in them, and what is left out and counted."""

import io
import struct
import tarfile
import zipfile

import pytest
from old_office_files import excel
from read_bytes import read_bytes
from sample_files import FOLDER, MAILBOX, tar, zipped

from indexer.formats import archive
from indexer.formats.format import LeftOut, UnreadableError

PATHS = ["notes/a.md", "b.txt"]
PACKED = {
    "a.zip": zipped(FOLDER),
    "a.tar": tar(FOLDER),
    "a.tar.gz": tar(FOLDER, "w:gz"),
    "a.tgz": tar(FOLDER, "w:gz"),
    "a.tar.bz2": tar(FOLDER, "w:bz2"),
    "a.tar.xz": tar(FOLDER, "w:xz"),
}


def documents(name, data):
    left_out = LeftOut()
    return list(read_bytes(name, data, left_out=left_out)), str(left_out)


@pytest.mark.parametrize("name", PACKED)
def test_a_file_in_an_archive_is_a_document_below_its_path(name):
    found, left_out = documents(name, PACKED[name])
    assert [(one.id, one.path, one.has_lines) for one in found] == [(f"{name}/{path}",) * 2 + (True,) for path in PATHS]
    assert left_out == "1 file left out: file e.bin cannot be read: unknown format .bin"


def test_records_of_a_file_in_an_archive_keep_their_names():
    found, _ = documents("a.zip", zipped({"b/c.jsonl": b'{"_id": "7", "text": "the cat"}\n', "d.xls": excel(["cat"])}))
    assert [(one.id, one.path) for one in found] == [
        ("a.zip/b/c.jsonl#7", "a.zip/b/c.jsonl"), ("a.zip/d.xls#Prices", "a.zip/d.xls")
    ]  # fmt: skip


BOTH = pytest.mark.parametrize(("suffix", "pack"), [("zip", zipped), ("tar", tar)])
TEXT = b"The cat sleeps on the mat.\n" * 1000
READ = {  # each with the path of its document in the archive
    "NOTES": "NOTES", "docs/plan": "docs/plan", "data.foo": "data.foo", "n.txt ": "n.txt ", "/x/a.txt": "x/a.txt",
    "a//b.txt": "a/b.txt", "./c.txt": "c.txt", "d\\e.txt": "d/e.txt",
}  # fmt: skip
SAID = {
    "../b.md": (TEXT, "is not read: its name leads out of the archive"),
    "a/..\\b.md": (TEXT, "is not read: its name leads out of the archive"),
    "b.foo": (TEXT * 40, "cannot be read: unknown format .foo"),
    "b.dat": (b"\0\1" * 99, "cannot be read: unknown format .dat"),
}
IGNORED = {
    **dict.fromkeys([".b/c.md", "__MACOSX/b.md", "node_modules/b.md", "b.min.js", "b.png"], TEXT),
    "program": b"\x7fELF\0\1\2" * 99,
    "b.crt": b"-----BEGIN CERTIFICATE-----\n",
}


@BOTH
def test_files_are_read_that_are_read_in_a_folder(suffix, pack):
    found, left_out = documents(f"a.{suffix}", pack({**dict.fromkeys(READ, TEXT), "Inbox": MAILBOX}))
    paths = dict.fromkeys(one.path.removeprefix(f"a.{suffix}/") for one in found)
    assert ([*paths], left_out) == ([*READ.values(), "Inbox"], "")


@BOTH
@pytest.mark.parametrize("name", [*SAID, *IGNORED])
def test_names_that_leave_the_archive_and_what_is_no_text_is_said_and_what_a_folder_ignores_is_ignored(
    suffix, pack, name
):
    data, problem = SAID.get(name) or (IGNORED[name], "")
    found, left_out = documents(f"a.{suffix}", pack({name: data, "b.md": b"the dog"}))
    shown = name.replace("\\", "/")
    said = f"1 file left out: file {shown} {problem}" if problem else ""
    assert ([one.text for one in found], left_out) == (["the dog"], said)


def test_links_and_folders_of_an_archive_are_not_read():
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(link, "b.md")
        archive.writestr("folder/", "")
        archive.writestr("b.md", "the dog")
    assert [one.text for one in documents("a.zip", stream.getvalue())[0]] == ["the dog"]


def test_what_cannot_be_read_is_counted():
    broken = {"a.md": b"the cat", "b.docx": b"PK", "c.zip": zipped(FOLDER), "d.png": b"x"}
    found, left_out = documents("a.zip", zipped(broken))
    assert [one.path for one in found] == ["a.zip/a.md"]
    assert left_out == (
        "2 files left out: file b.docx cannot be read: broken DOCX; file c.zip cannot be read: an archive in an archive"
    )


def test_credentials_in_an_archive_are_named_and_what_a_folder_would_ignore_is_not():
    assert documents("a.zip", zipped({"a.png": b"x", ".b/c.md": b"the cat"})) == ([], "")
    found, left_out = documents("a.zip", zipped({"a.md": b"the cat", "key/id_rsa": b"x"}))
    assert (
        len(found) == 1
        and left_out == "1 file left out: file key/id_rsa is not read: credentials or private key (id_rsa)"
    )


def test_a_member_of_an_impossible_size_ends_an_archive_of_tar():
    member = tarfile.TarInfo("c.txt")
    member.size = 10**12
    with pytest.raises(UnreadableError, match="broken archive"):
        documents("a.tar", member.tobuf(tarfile.GNU_FORMAT) + bytes(512))


def test_an_encrypted_archive_is_said_to_be_encrypted():
    data, place = bytearray(zipped({"a.md": b"the cat"})), 0
    place = data.find(b"PK\x01\x02")
    struct.pack_into("<H", data, place + 8, 1)
    with pytest.raises(UnreadableError, match=r"none of its files can be read: file a\.md is encrypted"):
        documents("a.zip", bytes(data))


def test_what_precedes_a_broken_part_is_read():
    data = tar({"a.md": b"the cat", "b.md": b"the dog" * 1000})[:4000]
    found, left_out = documents("a.tar", data)
    assert [one.path for one in found] == ["a.tar/a.md"] and "file b.md cannot be unpacked" in left_out
    for name in ("a.zip", "a.tar", "a.tgz"):
        with pytest.raises(UnreadableError, match="broken archive"):
            documents(name, b"the cat")


def test_the_number_and_the_sizes_of_files_are_limited(monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBER", 10)
    monkeypatch.setattr(archive, "MAX_UNPACKED", 30)
    data = zipped({"a.md": b"x" * 11, "b.md": b"y" * 10, "c.md": b"z" * 10, "d.md": b"the cat"})
    found, left_out = documents("a.zip", data)
    assert [one.path for one in found] == ["a.zip/b.md", "a.zip/c.md"]
    assert left_out.startswith("2 files left out: file a.md cannot be read: larger than")
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    assert "file c.md and more" in documents("a.zip", data)[1]
