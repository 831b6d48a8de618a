"""An index whose checksums fit, and whose values nobody but an attacker would write."""

import json
import shutil

import lancedb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import cdesearch

import cdesearch as package
from cdesearch.checksums import Entry, _serialised, read_checksums, write_checksums
from cdesearch.errors import IndexDamagedError, IndexUntrustedError
from cdesearch.files import SCHEMA, read_files
from cdesearch.index import Index, connect
from cdesearch.lance_manifest import MAX_BYTES, check_tables
from cdesearch.manifest import Manifest
from cdesearch.status import read_status
from indexer.build import build
from indexer.doctor import diagnose
from indexer.progress import Silent
from indexer.repair import repair
from indexer.settings import Options


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
    """Change every row of a table, and make the checksums fit."""
    database = lancedb.connect(generation_of(docs) / "tables")
    table = database.open_table(name)
    rows = table.to_arrow().to_pylist()
    for row in rows:
        change(row)
    database.create_table(name, pa.Table.from_pylist(rows, schema=table.schema), mode="overwrite")
    if name == "chunks":
        database.open_table(name).create_index("text", config=lancedb.index.FTS(with_position=False), name="text_idx")
    write_checksums(generation_of(docs), None)


def forge_place(docs, **values):
    forge_rows(docs, "chunks", lambda row: row.update(place=json.dumps(json.loads(row["place"]) | values)))


def forge_checksums(docs, entries):
    generation = generation_of(docs)
    (generation / "checksums.json").write_bytes(_serialised(read_checksums(generation) | entries))


# A table that keeps its data elsewhere.


@pytest.fixture
def cloned(docs, tmp_path):
    """An index whose chunks lie in another folder, which Lance would read; its list of files is damaged."""
    tables = generation_of(docs) / "tables"
    away = tmp_path / "away"
    (tables / "chunks.lance").rename(away)
    lancedb.connect(tables).clone_table("chunks", str(away))
    write_checksums(tables.parent, None)
    (tables.parent / "files.parquet").write_bytes(b"x")
    return docs


def test_a_repair_refuses_tables_whose_data_lies_elsewhere(cloned):
    before = generation_of(cloned)
    with pytest.raises(IndexUntrustedError, match="outside the index"):
        repair(cloned / ".cdesearch", False, Silent(), print)
    assert generation_of(cloned) == before


def test_doctor_does_not_call_a_forged_index_damaged(cloned):
    with pytest.raises(IndexUntrustedError, match="outside the index"):
        diagnose(cloned / ".cdesearch")
    run = cdesearch("doctor", cwd=cloned, code=2)
    assert "outside the index" in run.stderr and "--repair" not in run.stdout + run.stderr


def test_a_database_is_not_opened_where_a_table_names_data_elsewhere(cloned):
    with pytest.raises(IndexUntrustedError, match="outside the index"):
        connect(generation_of(cloned))


def test_a_kept_generation_that_names_data_elsewhere_is_not_made_live(cloned):
    generation = generation_of(cloned)
    other = shutil.copytree(generation, generation.with_name("aaaaaaaaaaaa"))
    write_checksums(other, None)
    shutil.rmtree(generation)
    with pytest.raises(IndexUntrustedError, match="outside the index"):
        repair(cloned / ".cdesearch", False, Silent(), print)
    assert generation_of(cloned) == generation, "CURRENT stays as it was"
