"""An index with valid checksums and values that only an attacker would write: each is damage, named in one line."""

import hashlib
import json
import os
import shutil

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from command import cdesearch, picture
from hypothesis import given
from hypothesis import strategies as st

import cdesearch as package
from cdesearch.errors import IndexDamagedError, IndexUntrustedError
from cdesearch.progress import Silent
from cdesearch.store.checksums import Entry, _serialised, read_checksums, write_checksums
from cdesearch.store.file_account import FILES, OUTCOMES, FileRecord, read_files, write_files
from cdesearch.store.index import Index
from cdesearch.store.storage import current_generation
from indexer.build import build
from indexer.health.doctor import diagnose
from indexer.health.repair import repair
from indexer.settings import Options

pytestmark = pytest.mark.slow

FILL = {"mode": "overwrite", "on_bad_vectors": "fill", "fill_value": float("nan")}


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    docs = tmp_path_factory.mktemp("ready") / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("the cat in the house")
    (docs / "b.md").write_text("the dog in the garden")
    build([docs], Options(), Silent())
    return docs


@pytest.fixture
def docs(ready, tmp_path):
    return shutil.copytree(ready, tmp_path / "docs", symlinks=True)


def generation_of(docs):
    return current_generation(docs / ".cdesearch")


# Ways to forge, each of which writes valid checksums.


def rows(name, **values):
    """Change every row of a table; values may be functions of the present ones."""

    def forge(docs):
        database = lancedb.connect(generation_of(docs) / "tables")
        table = database.open_table(name)
        forged = table.to_arrow().to_pylist()
        for row in forged:
            row |= {key: value(row[key]) if callable(value) else value for key, value in values.items()}
        database.create_table(name, pa.Table.from_pylist(forged, schema=table.schema), **FILL)
        if name == "chunks":
            index = lancedb.index.FTS(with_position=False)
            database.open_table(name).create_index("text", config=index, name="text_idx")
        write_checksums(generation_of(docs), None)

    return forge


def place(**values):
    return rows("chunks", place=lambda present: json.dumps(json.loads(present) | values))


def manifest(**values):
    def forge(docs):
        file = generation_of(docs) / "manifest.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | values))
        write_checksums(file.parent, None)

    return forge


def current(text):
    return lambda docs: (docs / ".cdesearch" / "CURRENT").write_text(text)


def checksums(name, entry):
    def forge(docs):
        generation = generation_of(docs)
        if isinstance(entry, Entry):
            content = _serialised(read_checksums(generation) | {name: entry})
        else:
            stored = json.loads((generation / "checksums.json").read_bytes())
            content = json.dumps(stored | {"files": stored["files"] | {name: entry}}).encode()
        (generation / "checksums.json").write_bytes(content)

    return forge


def claims_more(docs):
    file = generation_of(docs) / "context.safetensors"
    header = json.dumps({"vectors": {"dtype": "F32", "shape": [1 << 20] * 2, "data_offsets": [0, 1 << 42]}}).encode()
    file.write_bytes(len(header).to_bytes(8, "little") + header)
    write_checksums(file.parent, None)


def large(name):
    return lambda docs: os.truncate(generation_of(docs) / name, 20_000_000_000)  # a sparse file


def cut_manifest_of_lance(size):
    def forge(docs):
        generation = generation_of(docs)
        file = min(generation.rglob("chunks.lance/_versions/*.manifest"))  # the newest
        data = file.read_bytes()[:size]
        file.write_bytes(data)
        entry = Entry(size, file.stat().st_mtime_ns, hashlib.sha256(data).hexdigest())
        (generation / "checksums.json").write_bytes(
            _serialised(read_checksums(generation) | {file.relative_to(generation).as_posix(): entry})
        )

    return forge


F32 = np.float32
FOREIGN = ("/etc/hostname", "../../../../../foreign.txt", "tables/../../../../../foreign.txt", "..\\foreign.txt")
FORGED = {
    r"checksums\.json has other content": [
        *(checksums(name, Entry(7, 1, "0" * 64)) for name in (*FOREIGN, "C:foreign.txt", "//server/share", "a\0b", "")),
        *(checksums("zz", entry) for entry in (["x", 1, "0"], [-1, 1, "0"], [1, 1, 5])),
    ],
    "larger than": [large("checksums.json"), large("manifest.json")],
    "CURRENT": [current(text) for text in ("../../secret", "/etc", "", "0123456789ab\nx", "x" * 999_999)],
    r"manifest\.json cannot be read": [manifest(root="/\ud800")],
    "place (of a chunk is|has an) impossible": [
        *(place(**{name: -1}) for name in ("body_start", "record", "places")),
        place(title="\ud800\x1b[31m"),
        place(indent=" " * 1001),
        place(places={"trails": [[0, "x"]]}),
        place(more=1),
        *(rows("chunks", place=text) for text in ("x", "[" * 100_000)),
    ],
    "not numbers": [rows("chunks", vector=lambda vector: [float("nan")] * len(vector))],
    "tokens of an impossible size": [
        rows("chunks", tokens=lambda tokens: tokens[:-1]),
        rows("chunks", tokens=lambda _: bytes(50_000)),
    ],
    r"context\.safetensors": [claims_more],
    ".": [manifest(dimension=385), *map(cut_manifest_of_lance, (0, 40))],
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
    checksums(FOREIGN[1], Entry(7, 1, "0" * 64))(docs)
    monkeypatch.setattr("cdesearch.store.damage.find_damage", None)  # looks at files
    found = diagnose(docs / ".cdesearch")
    assert [str(damage) for damage in found.damages] == ["checksums.json has other content than was written"]


# The list of files.

LINE = ["a.md", "skipped", "x", 1, 1, None, None]
WRONG_LINES = {
    "not JSON": b"x\n",
    "not UTF-8": b'["\xff", "skipped", "x", 1, 1, null]\n',
    "half a character": json.dumps(["\ud800", *LINE[1:]]).encode(),
    "not a list": b'{"path": "a.md"}\n',
    "another outcome": json.dumps([LINE[0], "gone", *LINE[2:]]).encode(),
    "truth as size": json.dumps([*LINE[:3], True, 1, None]).encode(),
    "deep lists": b"[" * 100_000,
    "an endless line": json.dumps(["a" * 10_000_000, *LINE[1:]]).encode(),
}


@pytest.mark.parametrize("line", WRONG_LINES.values(), ids=WRONG_LINES)
def test_a_forged_list_of_files_is_damage(docs, line):
    (generation_of(docs) / FILES).write_bytes(json.dumps(LINE).encode() + b"\n" + line)
    write_checksums(generation_of(docs), None)
    error = cdesearch("status", "--files", cwd=docs, code=2).stderr
    assert "files.jsonl cannot be read" in error and len(error.splitlines()) == 1


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.none() | st.integers(-(2**63), 2**63 - 1)
records = st.builds(FileRecord, names, st.sampled_from(OUTCOMES), names, numbers, numbers, st.none() | names)


@given(st.lists(records, max_size=20))
def test_a_list_of_files_is_read_as_it_was_written(tmp_path_factory, listed):
    folder = tmp_path_factory.mktemp("list")
    write_files(listed, folder / FILES)
    assert list(read_files(folder)) == listed


# Data outside the index.


@pytest.mark.parametrize("address", ["s3://evil-bucket", "/another/folder/", "az://evil-container", "file:///etc/"])
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
    (tables.parent / FILES).write_bytes(b"x")  # damage, so that a repair would begin
    write_checksums(tables.parent, None)
    before = picture(docs / ".cdesearch" / "generations")
    for action in (
        lambda: package.open(docs).search("cat"),
        lambda: build([docs], Options(), Silent()),
        lambda: diagnose(docs / ".cdesearch"),
        lambda: repair(docs / ".cdesearch", False, Silent(), print),
    ):
        with pytest.raises(IndexUntrustedError, match="outside the index"):
            action()
    run = cdesearch("doctor", cwd=docs, code=2)
    assert "outside the index" in run.stderr and "--repair" not in run.stdout + run.stderr
    assert picture(docs / ".cdesearch" / "generations") == before


def test_an_unknown_table_is_refused(docs):
    (generation_of(docs) / "tables" / "__manifest.lance").mkdir()
    with pytest.raises(IndexUntrustedError, match="not a table of an index"):
        Index.open(docs)


@pytest.mark.parametrize("part", ["/documents.lance/data/", "/chunks.lance/data/", f"/{FILES}"])
def test_a_part_that_cannot_be_read_is_refused_in_one_line(docs, part):
    """Data that Lance and the reader of the list of files cannot decode, with checksums that match."""
    generation = generation_of(docs)
    for file in [file for file in generation.rglob("*") if file.is_file() and part in file.as_posix()]:
        content = file.read_bytes()
        file.unlink()  # the file may have a second name in another generation
        file.write_bytes(b"\xff" * (len(content) // 2) + content[len(content) // 2 :])
    write_checksums(generation, None)
    (docs / "a.md").write_text("the moon in the house")
    for command in ("status", "index"):
        error = cdesearch(command, cwd=docs, code=2).stderr.splitlines()[-1]
        assert "cdesearch index --rebuild" in error and ".rs:" not in error
