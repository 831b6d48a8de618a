"""Files whose names no format lists, which are read if they are text."""

import gzip
import io
import random
import string

import pytest
from read_bytes import read_bytes
from sample_files import MAILBOX, MESSAGE
from walked import found, items, left_out

from cdesearch.builders import UnreadFile
from indexer.files.outcome import Source
from indexer.formats.format import GeneratedError
from indexer.formats.unknown import MOST_BYTES, reads_as_text

PROSE = "The owl hoots at night, and the fox listens.\nA second sentence follows here.\n" * 20
CODE = 'sub greet {\n    my ($name) = @_;\n    print "Hello, $name\\n" if defined $name;\n}\n' * 40
NUMBERS = "".join(f"{n},{n * 7 % 13}.5,sensor,{n * 3}\n" for n in range(400))
KEY = "-----BEGIN CERTIFICATE-----\n" + "MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQsw\n" * 20


def is_read(name, data):
    data = data.encode() if isinstance(data, str) else data
    return reads_as_text(io.BytesIO(data), name, len(data))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("README.examples", PROSE),
        ("git-import.perl", CODE),
        ("tutor.utf-8", "Ça va très bien, merci à vous.\n" * 400),
        ("notes.ja", "猫は夜に鳴きます。犬は昼に吠えます。\n" * 99),
        ("colours.out", "\x1b[31mred words\x1b[0m and so on\n" * 99),
        ("one.line", "one line without an end"),
        ("manifesto.gz", gzip.compress(PROSE.encode())),
    ],
)
def test_text_with_an_unknown_suffix_is_read(name, data):
    assert is_read(name, data)


RANDOM = random.Random(0)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("table.dat", NUMBERS),
        ("late.dat", PROSE * 3 + NUMBERS * 9),  # a header of prose above a table
        ("sums.md5sums", "".join(f"{RANDOM.getrandbits(128):032x}  usr/share/a{n}\n" for n in range(99))),
        ("words.list", "".join("".join(RANDOM.choices(string.ascii_lowercase, k=7)) + "\n" for _ in range(999))),
        ("any.asn", KEY),
        ("rsa.pem", PROSE),
        ("legacy.cp1250", "Příliš žluťoučký kůň\n".encode("cp1250")),
        ("base.enc", "aGVsbG8gd29ybGQgdGhpcyBpcyBhIHRlc3Qgb2Y\n" * 99),
        ("program.bin", b"\x7fELF\0\0words of text here\n"),
        ("empty.foo", ""),
        ("large.foo", PROSE * (MOST_BYTES // len(PROSE) + 1)),
        ("archive.tar.gz", gzip.compress(b"a.txt" + bytes(95) + PROSE.encode())),
        ("drawing.png.gz", gzip.compress(PROSE.encode())),
        ("packed.xz", PROSE),
    ],
)
def test_data_keys_and_programs_with_an_unknown_suffix_are_not_read(name, data):
    assert not is_read(name, data)


def test_the_walk_finds_texts_with_an_unknown_suffix_and_names_what_it_leaves_out(tmp_path):
    (tmp_path / "README.examples").write_text(PROSE)
    (tmp_path / "CHANGES.gz").write_bytes(gzip.compress(PROSE.encode()))
    (tmp_path / "table.dat").write_text(NUMBERS)
    for name in ("server_key", "server.pem"):
        (tmp_path / name).write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n")
    assert found(tmp_path) == ["CHANGES.gz", "README.examples"]
    keys = dict.fromkeys(["server.pem", "server_key"], "key or certificate")
    assert left_out(tmp_path) == keys | {"table.dat": "unknown format .dat"}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("key.txt", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"),
        ("key.asc", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n"),
        ("account.json", '{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\nMIIE"}'),
        ("list.json", '[{"project_id": "my-shop-1", "privateKey": "-----BEGIN PRIVATE KEY-----\\nMIIE"}]'),
    ],
)
def test_a_private_key_in_a_text_file_is_ignored(name, data):
    with pytest.raises(GeneratedError, match="private key"):
        [*read_bytes(name, data.encode())]
    assert [*read_bytes(name, data.encode(), is_wanted=True)]


def test_a_log_without_suffix_may_contain_nuls_but_no_program_does(tmp_path):
    (tmp_path / "syslog").write_bytes(b"the kiln was started\n" * 9 + bytes(512) + b"the kiln has stopped\n")
    for name, start in {"ls": b"\x7fELF\x02\x01\x01" + bytes(9), "db": b"SQLite format 3\0\x10\0\x01\x01"}.items():
        (tmp_path / name).write_bytes(start + b"words of text\n" * 9 + random.Random(1).randbytes(9999))
    assert found(tmp_path) == ["syslog"]
    assert {*left_out(tmp_path).values()} == {"binary file without suffix"}


def test_old_logs_are_read_that_have_a_date_after_their_name(tmp_path):
    names = [
        "app.log-20240131",
        "app.log.2024-01-31",
        "app.log.2024-01-31_10",
        "app.log_2024-01-31-1706659200",
        "out.9",
    ]
    for name in names:
        (tmp_path / name).write_text(NUMBERS)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(NUMBERS.encode()))
    assert found(tmp_path) == sorted([*names, *(f"{name}.gz" for name in names)])


def test_the_contents_of_such_files_are_plain_text_or_a_script():
    (document,) = read_bytes("doc/CHANGES.gz", gzip.compress(PROSE.encode()))
    assert (document.path, document.text, document.layout) == ("doc/CHANGES.gz", PROSE, "text")
    (script,) = read_bytes("hooks/update.sample", b"#!/bin/sh\necho hello\n")
    assert (script.layout, script.language) == ("code", "bash")


def test_the_walk_finds_mail_without_a_known_suffix_and_mailboxes_of_any_size(tmp_path):
    for name in ("cur/1700000000.M1P2.den:2,S", "new/1700000000.M1P2.den.org"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(MESSAGE)
    (tmp_path / "Inbox").write_bytes(MAILBOX * 2)
    (tmp_path / "notes").write_bytes(b"honey\n" * 1000)
    assert [type(item) for item in items(tmp_path, limit=len(MAILBOX))] == [Source, Source, Source, UnreadFile]
