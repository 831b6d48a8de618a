"""An index with valid checksums and values that only an attacker would write."""

import json
import os
import shutil

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from command import cdesearch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

import cdesearch as package
from cdesearch.errors import IndexDamagedError, IndexUntrustedError
from cdesearch.progress import Silent
from cdesearch.search.drift import measure_drift
from cdesearch.store.checksums import Entry, _serialised, read_checksums, write_checksums
from cdesearch.store.file_account import FILES, OUTCOMES, FileRecord, read_files, write_files
from cdesearch.store.index import Index
from cdesearch.store.manifest import Manifest
from cdesearch.store.schema import chunk_from_row
from cdesearch.store.storage import connect
from indexer.build import build
from indexer.health.doctor import diagnose
from indexer.health.repair import repair
from indexer.settings import Options

pytestmark = pytest.mark.slow


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
    index = docs / ".cdesearch"
    return index / "generations" / (index / "CURRENT").read_text().strip()


def forge_rows(docs, name, change):
    """Change every row of a table, and update the checksums."""
    database = lancedb.connect(generation_of(docs) / "tables")
    table = database.open_table(name)
    rows = table.to_arrow().to_pylist()
    for row in rows:
        change(row)
    forged = pa.Table.from_pylist(rows, schema=table.schema)
    database.create_table(name, forged, mode="overwrite", on_bad_vectors="fill", fill_value=float("nan"))
    if name == "chunks":
        database.open_table(name).create_index("text", config=lancedb.index.FTS(with_position=False), name="text_idx")
    write_checksums(generation_of(docs), None)


def forge_place(docs, **values):
    forge_rows(docs, "chunks", lambda row: row.update(place=json.dumps(json.loads(row["place"]) | values)))


def forge_context(docs, change):
    file = generation_of(docs) / "context.safetensors"
    with safe_open(file, framework="numpy") as opened:
        described = json.loads(opened.metadata()["context"])
        arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (no iterator)
    change(arrays, described)
    save_file(arrays, file, {"context": json.dumps(described)})
    write_checksums(generation_of(docs), None)


def forge_checksums(docs, entries):
    generation = generation_of(docs)
    (generation / "checksums.json").write_bytes(_serialised(read_checksums(generation) | entries))


# A table with data outside the index.


@pytest.fixture
def cloned(docs, tmp_path):
    """An index whose chunks are in another folder, which Lance would read; its list of files is damaged."""
    tables = generation_of(docs) / "tables"
    away = tmp_path / "away"
    (tables / "chunks.lance").rename(away)
    lancedb.connect(tables).clone_table("chunks", str(away))
    write_checksums(tables.parent, None)
    (tables.parent / "files.jsonl").write_bytes(b"x")
    return docs


def test_a_repair_refuses_tables_with_data_outside_the_index(cloned):
    before = generation_of(cloned)
    with pytest.raises(IndexUntrustedError, match="outside the index"):
        repair(cloned / ".cdesearch", False, Silent(), print)
    assert generation_of(cloned) == before


def test_doctor_does_not_call_a_forged_index_damaged(cloned):
    with pytest.raises(IndexUntrustedError, match="outside the index"):
        diagnose(cloned / ".cdesearch")
    run = cdesearch("doctor", cwd=cloned, code=2)
    assert "outside the index" in run.stderr and "--repair" not in run.stdout + run.stderr


def test_a_database_is_not_opened_if_a_table_names_data_outside_the_index(cloned):
    with pytest.raises(IndexUntrustedError, match="outside the index"):
        connect(generation_of(cloned))


# Checksums.


@pytest.mark.parametrize(
    "name",
    [
        "/etc/hostname",
        "../../../../../foreign.txt",
        "tables/../../../../../foreign.txt",
        "..\\foreign.txt",
        "C:foreign.txt",
        "C:/foreign.txt",
        "//server/share",
        "tables//x",
        "./manifest.json",
        "",
        "a\0b",
        "a\x1b]0;x\x07",
    ],
)
def test_a_path_in_the_checksums_outside_the_generation_is_never_opened(docs, tmp_path, monkeypatch, name):
    (tmp_path / "foreign.txt").write_text("private")
    forge_checksums(docs, {name: Entry(7, 1, "0" * 64)})
    monkeypatch.setattr("cdesearch.store.damage.find_damage", None)  # looks at files
    with pytest.raises(IndexDamagedError, match=r"checksums\.json has other content"):
        package.open(docs)
    found = diagnose(docs / ".cdesearch")
    assert [str(damage) for damage in found.damages] == ["checksums.json has other content than was written"]


@pytest.mark.parametrize(
    "entry", [["x", 1, "0"], [-1, 1, "0"], [True, 1, "0"], [1, "q", "0"], [1, 1, 5], [1, 1, "x"]], ids=str
)
def test_an_impossible_value_in_the_checksums_is_damage(docs, entry):
    file = generation_of(docs) / "checksums.json"
    stored = json.loads(file.read_bytes())
    file.write_text(json.dumps(stored | {"files": stored["files"] | {"zz": entry}}))
    with pytest.raises(IndexDamagedError, match=r"checksums\.json has other content"):
        package.open(docs)


def test_checksums_that_are_too_large_are_not_read(docs):
    file = generation_of(docs) / "checksums.json"
    with file.open("r+b") as stream:
        stream.truncate(20_000_000_000)  # a sparse file
    with pytest.raises(IndexDamagedError, match="larger than"):
        package.open(docs)


# Values of the tables.


@pytest.mark.parametrize(
    "values",
    [
        {"record": 5},
        {"title": None},
        {"title": "\ud800\x1b[31m"},
        {"trail": [1]},
        {"body_start": -1},
        {"body_start": 10**30},
        {"ordinal": 0.5},
        {"ordinal": True},
        {"line_start": "\x1b]0;owned\x07"},
        {"page": {"a": 1}},
        {"anchor": ["setup"]},
        {"indent": "x"},
        {"indent": " " * 1001},
        {"more": 1},
        {"places": {"trails": [[0, "x"]]}},
        {"places": {"anchors": [[0, "\ud800"]]}},
        {"places": {"numbers": [[0, -1]]}},
        {"places": [1]},
    ],
    ids=lambda values: f"{values!s:.30}",
)
def test_an_impossible_value_in_the_place_column_is_damage(values):
    row = {"id": "00", "document_id": "a.md", "path": "a.md", "text": "the cat"}
    place = {"record": None, "ordinal": 0, "title": "", "trail": [], "body_start": 0}
    place |= {"line_start": 1, "line_end": 1, "page": None}
    assert chunk_from_row(row | {"place": json.dumps(place)}).line_start == 1
    assert chunk_from_row(row | {"place": json.dumps(place | {"anchor": "setup"})}).anchor == "setup"
    with pytest.raises(ValueError, match=r"place of a chunk|after its text"):
        chunk_from_row(row | {"place": json.dumps(place | values)})


@pytest.mark.parametrize("place", ["x", "", "[]", "{}", "null", "[" * 100_000, '{"a":' * 100_000])
def test_a_place_column_of_another_form_is_damage(docs, place):
    forge_rows(docs, "chunks", lambda row: row.update(place=place))
    with pytest.raises(IndexDamagedError, match="place has an impossible value"):
        package.open(docs).search("cat", mode="text")


@pytest.mark.parametrize("n_chunks", [0, -3])
def test_documents_with_a_wrong_number_of_chunks_are_damage(docs, n_chunks):
    forge_rows(docs, "documents", lambda row: row.update(n_chunks=n_chunks))
    with pytest.raises(IndexDamagedError, match="documents"):
        measure_drift(Index.open(docs))


def test_an_update_accepts_chunk_ids_that_are_not_hashes(docs):
    forge_rows(docs, "chunks", lambda row: row.update(id="zz"))
    (docs / "c.md").write_text("a new cat")
    assert build([docs], Options(), Silent()).changed
    assert package.open(docs).search("new cat", mode="text")


@pytest.mark.parametrize("values", [{"root": "../\ud800"}, {"root": "/\ud800"}, {"sources": ["\ud800"]}])
@pytest.mark.skipif(os.name == "nt", reason="Windows takes any such name")
def test_a_path_that_no_system_call_accepts_is_damage(docs, values):
    file = generation_of(docs) / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    write_checksums(file.parent, None)
    with pytest.raises(IndexDamagedError, match=r"manifest\.json cannot be read"):
        Manifest.load(file)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_vectors_with_values_that_are_not_numbers_are_damage(docs, number):
    forge_rows(docs, "chunks", lambda row: row.update(vector=[number] * len(row["vector"])))
    for mode in ("hybrid", "dense"):
        with pytest.raises(IndexDamagedError, match="not numbers"):
            package.open(docs).search("cat", mode=mode)


@pytest.mark.parametrize("name", ["token_weights", "projection", "sample_vectors", "shift", "vectors"])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_context_with_values_that_are_not_numbers_is_damage(docs, name, number):
    forge_context(docs, lambda arrays, _: arrays.update({name: np.full_like(arrays[name], number)}))
    with pytest.raises(IndexDamagedError, match="cannot be read"):
        package.open(docs).search("cat")


def test_a_context_with_negative_weights_of_tokens_is_damage(docs):
    forge_context(docs, lambda arrays, _: arrays["token_weights"].fill(-1))
    with pytest.raises(IndexDamagedError, match="cannot be read"):
        package.open(docs).search("cat")


@pytest.mark.parametrize(
    "values", [{"chunk_ids": "xx"}, {"content_hashes": [1, 2]}, {"content_hashes": []}, {"seed": "x"}]
)
def test_a_context_with_impossible_values_is_damage(docs, values):
    forge_context(docs, lambda _, described: described.update(values))
    with pytest.raises(IndexDamagedError, match="cannot be read"):
        package.open(docs).search("cat")


# The list of files.


def forge_list(docs, *lines):
    (generation_of(docs) / FILES).write_bytes(b"".join(lines))
    write_checksums(generation_of(docs), None)


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
    forge_list(docs, json.dumps(LINE).encode(), b"\n", line)
    with pytest.raises(IndexDamagedError, match=r"files\.jsonl cannot be read"):
        list(read_files(generation_of(docs)))
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


# A generation that claims to be unfinished.


@pytest.mark.parametrize("name", ["chunks", "own_vectors"])
@pytest.mark.parametrize("is_readable", [True, False])
def test_a_planted_unfinished_generation_does_not_block_updates(docs, name, is_readable):
    live = generation_of(docs)
    manifest = Manifest.load(live / "manifest.json")
    planted = live.with_name("aaaaaaaaaaaa")
    shutil.copytree(live, planted)
    database = lancedb.connect(planted / "tables")
    table = database.create_table(name, pa.table({"zz": [1]}), mode="overwrite")
    if not is_readable:
        for file in (planted / "tables" / f"{table.name}.lance" / "_versions").iterdir():
            file.write_bytes(b"x")
    (planted / "plan.json").write_text(json.dumps({"model": manifest.model_fingerprint, "base": live.name}))
    (docs / "c.md").write_text("a new cat")
    assert build([docs], Options(), Silent()).changed
    assert package.open(docs).search("new cat", mode="text")
    assert not planted.exists()


@pytest.mark.parametrize("new_context", [False, True])
@pytest.mark.parametrize("is_finite", [False, True])
def test_the_chunks_of_a_planted_unfinished_generation_are_never_published(docs, new_context, is_finite):
    """The planted generation has the columns, chunk ids and plan of the next build, but other texts and vectors."""
    live = generation_of(docs)
    manifest = Manifest.load(live / "manifest.json")
    planted = live.with_name("aaaaaaaaaaaa")
    shutil.copytree(live, planted)
    for name in ("checksums.json", "manifest.json", "files.jsonl", "tables/documents.lance"):
        (shutil.rmtree if name.endswith(".lance") else os.unlink)(planted / name)
    database = lancedb.connect(planted / "tables")
    table = database.open_table("chunks")
    rows = table.to_arrow().to_pylist()
    for row in rows:
        row |= {"text": "poison", "vector": [1.0 if is_finite else float("nan")] * len(row["vector"])}
    forged = pa.Table.from_pylist(rows, schema=table.schema)
    options = {"mode": "overwrite", "on_bad_vectors": "fill", "fill_value": float("nan")}
    database.create_table("chunks", forged, **options)
    plan = {"model": manifest.model_fingerprint, "base": live.name}
    if new_context:
        plan |= {"seed": manifest.seed, "context_size": manifest.context_limit, "sources": [str(docs)]}
    (planted / "plan.json").write_text(json.dumps(plan))
    (docs / "c.md").write_text("a new cat")
    build([docs], Options(refresh_context=new_context), Silent())
    table = Index.open(docs).chunks.to_arrow()
    assert len(table) == 3 and "poison" not in table["text"].to_pylist()
    assert np.isfinite(np.stack(table["vector"].to_numpy())).all()
    assert package.open(docs).search("cat") and not planted.exists()


@pytest.mark.parametrize(
    ("table", "values"),
    [("documents", {"n_chunks": -1}), ("documents", {"n_chunks": 2**31 - 1}), ("chunks", {"id": "zz"})],
)
def test_an_update_of_documents_that_are_not_those_of_the_chunks_is_refused_and_can_be_repaired(docs, table, values):
    forge_rows(docs, table, lambda row: row.update(values))
    before = generation_of(docs)
    (docs / "a.md").write_text("the cat is elsewhere")
    with pytest.raises(IndexDamagedError, match="not those of its chunks"):
        build([docs], Options(), Silent())
    assert generation_of(docs) == before
    (before / "files.jsonl").write_bytes(b"x")  # damage, so that the repair begins
    repair(docs / ".cdesearch", False, Silent(), print)
    assert diagnose(docs / ".cdesearch").is_sound and package.open(docs).search("elsewhere")


# Data that Lance and the reader of the list of files cannot decode, with checksums that match.


def spoil(docs, part):
    """Overwrite the first half of each file of the live generation whose path contains `part`."""
    generation = generation_of(docs)
    spoiled = [file for file in generation.rglob("*") if file.is_file() and part in file.as_posix()]
    assert spoiled
    for file in spoiled:
        content = file.read_bytes()
        file.unlink()  # the file may have a second name in another generation
        file.write_bytes(b"\xff" * (len(content) // 2) + content[len(content) // 2 :])
    (generation / "checksums.json").unlink()
    write_checksums(generation, None)


UNREADABLE = ["/documents.lance/data/", "/chunks.lance/data/", f"/{FILES}"]


@pytest.mark.parametrize("part", UNREADABLE)
def test_a_part_that_cannot_be_read_is_refused_in_one_line(docs, part):
    spoil(docs, part)
    (docs / "a.md").write_text("the moon in the house")
    for command in ("status", "index"):
        error = cdesearch(command, cwd=docs, code=2).stderr.splitlines()[-1]
        assert "cdesearch index --rebuild" in error and ".rs:" not in error
