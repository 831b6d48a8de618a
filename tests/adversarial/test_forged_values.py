"""An index of a stranger, with valid checksums and values that only an attacker would write, harms no reader."""

import json
import os
import shutil

import lancedb
import pyarrow as pa
import pytest
from built import make_index, write_files
from command import cdesearch, picture

import cdesearch as package
from cdesearch.errors import IndexDamagedError, IndexUntrustedError
from cdesearch.store.checksums import Entry, _serialised, read_checksums, write_checksums
from cdesearch.store.file_account import FILES
from cdesearch.store.index import Index
from cdesearch.store.storage import current_generation
from indexer.health.doctor import diagnose

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    docs = write_files(tmp_path_factory.mktemp("ready") / "docs", {"a.md": "the cat in the house"})
    make_index([docs])
    return docs


@pytest.fixture
def docs(ready, tmp_path):
    return shutil.copytree(ready, tmp_path / "docs", symlinks=True)


def generation_of(docs):
    return current_generation(docs / ".cdesearch")


# Ways to forge, each of which writes valid checksums.


def rows(**values):
    """Change every chunk; values may be functions of the present ones."""

    def forge(docs):
        database = lancedb.connect(generation_of(docs) / "tables")
        table = database.open_table("chunks")
        forged = table.to_arrow().to_pylist()
        for row in forged:
            row |= {key: value(row[key]) if callable(value) else value for key, value in values.items()}
        fill = {"mode": "overwrite", "on_bad_vectors": "fill", "fill_value": float("nan")}
        database.create_table("chunks", pa.Table.from_pylist(forged, schema=table.schema), **fill)
        write_checksums(generation_of(docs), None)

    return forge


def place(**values):
    return rows(place=lambda present: json.dumps(json.loads(present) | values))


def current(text):
    return lambda docs: (docs / ".cdesearch" / "CURRENT").write_text(text)


def checksums(name):
    def forge(docs):
        content = _serialised(read_checksums(generation_of(docs)) | {name: Entry(7, 1, "0" * 64)})
        (generation_of(docs) / "checksums.json").write_bytes(content)

    return forge


def claims_more(docs):
    file = generation_of(docs) / "context.safetensors"
    header = json.dumps({"vectors": {"dtype": "F32", "shape": [1 << 20] * 2, "data_offsets": [0, 1 << 42]}}).encode()
    file.write_bytes(len(header).to_bytes(8, "little") + header)
    write_checksums(file.parent, None)


def large(name):
    return lambda docs: os.truncate(generation_of(docs) / name, 20_000_000_000)  # a sparse file


FOREIGN = ("/etc/hostname", "../../../../../foreign.txt", "tables/../../../../../foreign.txt", "a\0b")
FORGED = {
    r"checksums\.json has other content": [checksums(name) for name in FOREIGN],
    "larger than": [large("checksums.json"), large("manifest.json")],
    "CURRENT": [current(text) for text in ("../../secret", "/etc", "x" * 999_999)],
    "place (of a chunk is|has an) impossible": [
        place(body_start=-1),
        place(title="\ud800\x1b[31m"),
        place(indent=" " * 1001),
        rows(place="[" * 100_000),
    ],
    "not numbers": [rows(vector=lambda vector: [float("nan")] * len(vector))],
    "tokens of an impossible size": [rows(tokens=lambda _: bytes(50_000))],
    r"context\.safetensors": [claims_more],
}


@pytest.mark.parametrize(
    ("message", "forge"),
    [
        pytest.param(message, forge, id=f"{message[:12]} {number}")
        for message, forges in FORGED.items()
        for number, forge in enumerate(forges)
    ],
)
def test_a_forged_value_is_damage_named_in_one_line(docs, message, forge):
    forge(docs)
    with pytest.raises(IndexDamagedError, match=message) as raised:
        package.open(docs).search("cat")
    assert "\n" not in str(raised.value) and "\x1b" not in str(raised.value)


def test_a_path_in_the_checksums_outside_the_generation_is_never_opened(docs, monkeypatch):
    checksums(FOREIGN[1])(docs)
    monkeypatch.setattr("cdesearch.store.damage.find_damage", None)  # looks at files
    found = diagnose(docs / ".cdesearch")
    assert [str(damage) for damage in found.damages] == ["checksums.json has other content than was written"]


@pytest.mark.parametrize("line", [b"x\n", b"[" * 100_000, json.dumps(["a" * 10_000_000, "skipped"]).encode()])
def test_a_forged_list_of_files_is_damage(docs, line):
    (generation_of(docs) / FILES).write_bytes(line)
    write_checksums(generation_of(docs), None)
    error = cdesearch("status", "--files", cwd=docs, code=2).stderr
    assert "files.jsonl cannot be read" in error and len(error.splitlines()) == 1


# Data outside the index.


@pytest.mark.parametrize("address", ["s3://evil-bucket", "/another/folder/"])
def test_a_table_with_data_outside_the_index_is_refused_before_lance_opens_it(docs, tmp_path, address):
    """A shallow clone of Lance: without the check, LanceDB looks up the host of the bucket."""
    tables = generation_of(docs) / "tables"
    away = tmp_path / "a-folder-whose-name-is-longer-than-every-address"
    (tables / "chunks.lance").rename(away)
    lancedb.connect(tables).clone_table("chunks", str(away))
    (file,) = tables.rglob("chunks.lance/_versions/*.manifest")
    named = str(away).encode()
    forged = file.read_bytes().replace(named, address.encode().ljust(len(named), b"x"))
    assert address.encode() in forged
    file.write_bytes(forged)
    write_checksums(tables.parent, None)
    before = picture(docs / ".cdesearch" / "generations")
    for action in (lambda: package.open(docs).search("cat"), lambda: make_index([docs])):
        with pytest.raises(IndexUntrustedError, match="outside the index"):
            action()
    run = cdesearch("doctor", "--repair", cwd=docs, code=2)
    assert "outside the index" in run.stderr
    assert picture(docs / ".cdesearch" / "generations") == before


def test_an_unknown_table_is_refused(docs):
    (generation_of(docs) / "tables" / "__manifest.lance").mkdir()
    with pytest.raises(IndexUntrustedError, match="not a table of an index"):
        Index.open(docs)
