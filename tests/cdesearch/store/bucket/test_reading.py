import json

import pytest
from built import make_index, write_files
from command import cdesearch
from object_server import SECRET, move_to_computer, put
from running_server import running_server, wait_until

import cdesearch as cdesearch_api
from cdesearch.errors import IndexDamagedError
from cdesearch.search.searcher import Searcher
from cdesearch.store.bucket import snapshot
from cdesearch.store.bucket.objects import bucket_at
from cdesearch.store.index import Index

QUERY = "the moon is in the house"


def hits(index, encoder, mode="hybrid"):
    with Searcher(index, encoder) as searcher:
        return [(hit.chunk.id, hit.score) for hit in searcher.search(QUERY, 5, mode)]


@pytest.mark.parametrize(
    "mode", ["hybrid", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("dense", "text"))]
)
def test_another_computer_finds_in_the_bucket_what_a_local_index_finds(
    store, run, docs, tiny_checkpoint, tiny_encoder, tmp_path, monkeypatch, mode
):
    run()
    make_index([docs], model=tiny_checkpoint, index=tmp_path / "local")
    local = hits(Index.open(tmp_path / "local"), tiny_encoder, mode)
    move_to_computer("second", tmp_path, monkeypatch)
    assert hits(Index.open(store.place), tiny_encoder, mode) == local


def test_a_query_needs_no_right_to_write_and_downloads_the_context_once(
    store, run, tiny_encoder, tmp_path, monkeypatch
):
    run()
    store.is_read_only = True
    move_to_computer("second", tmp_path, monkeypatch)
    del store.requests[:]
    first = hits(Index.open(store.place), tiny_encoder)
    assert store.counts().keys() == {"GET"}
    assert sum("context.safetensors" in request for request in store.requests) == 1
    del store.requests[:]
    assert hits(Index.open(store.place), tiny_encoder) == first
    assert not any("context" in request or request.endswith(".json") for request in store.requests)


@pytest.mark.slow
def test_an_open_generation_answers_while_a_newer_one_is_published_and_is_replaced_soon(
    store, run, docs, tiny_encoder, monkeypatch
):
    run()
    with Searcher(Index.open(store.place), tiny_encoder) as searcher:
        before = searcher.search(QUERY, 5)
        (docs / "new.md").write_text("the moon is in the house of bread")
        run()
        assert searcher.search(QUERY, 5).generation == before.generation
        assert searcher.search(QUERY, 5).hits == before.hits
        monkeypatch.setattr(snapshot, "FRESH_SECONDS", 0.0)
        assert searcher.refresh()
        assert searcher.search(QUERY, 5).generation != before.generation
        assert searcher.index.manifest.n_documents == 13


@pytest.mark.slow
def test_a_generation_that_was_collected_is_replaced_by_the_newest(store, run, docs, tiny_encoder):
    run()
    with Searcher(Index.open(store.place), tiny_encoder) as searcher:
        before = searcher.search(QUERY, 5)
        (docs / "new.md").write_text("the moon is in the house of bread")
        run()
        bucket = bucket_at(searcher.index.place)
        bucket.remove(bucket.list(f"generations/{before.generation}"))
        assert searcher.search(QUERY, 5).generation != before.generation
        assert searcher.index.manifest.n_documents == 13


@pytest.mark.slow
def test_an_index_in_a_bucket_and_a_local_one_are_searched_as_one(store, run, docs, tiny_checkpoint, tmp_path):
    run()
    notes = write_files(tmp_path / "notes", {"own.md": "the moon is in the house of bread"})
    make_index([notes], model=tiny_checkpoint)
    both = ("--index", store.address, "--index", notes)
    found = json.loads(cdesearch("query", QUERY, *both, "-k", 99, "--json", cwd=tmp_path).stdout)
    assert found["indexes"] == {"docs": str(docs), "notes": str(notes)}
    assert {hit["index"] for hit in found["hits"]} == {"docs", "notes"}
    with cdesearch_api.open([store.address, notes]) as indexes:
        assert [hit.chunk.path for hit in indexes.search(QUERY, 99)] == [hit["path"] for hit in found["hits"]]
    store.is_gone = True
    gone = cdesearch("query", QUERY, *both, cwd=tmp_path, code=2)
    assert f"The bucket {store.bucket}" in gone.stderr


def test_a_missing_or_changed_object_is_reported_as_damage(store, run, tiny_encoder):
    run()
    index = Index.open(store.place)
    bucket = bucket_at(index.place)
    name = next(name for name in bucket.list("generations") if "chunks.lance/data" in name)
    content = store.objects()[f"team/docs/{name}"]
    put(bucket.address, name, content[:-1])
    with pytest.raises(IndexDamagedError, match=r"bytes instead of .* `cdesearch index --rebuild --index s3://"):
        hits(index, tiny_encoder)
    bucket.remove([name])
    with pytest.raises(IndexDamagedError, match="is missing"):
        hits(Index.open(store.place), tiny_encoder)
    put(bucket.address, name, content)
    newer = f"{name.partition('/data/')[0]}/_versions/1.manifest"  # LanceDB would open the newest version
    put(bucket.address, newer, b"")
    with pytest.raises(IndexDamagedError, match=r"_versions/1\.manifest was not written by cdesearch"):
        hits(Index.open(store.place), tiny_encoder)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["chunks.lance/data", "chunks.lance/_indices"])
def test_objects_with_other_content_of_the_same_size_are_reported_as_damage(store, run, tiny_encoder, part):
    run()
    for name, content in store.objects().items():
        if part in name:
            put(store.place, name.removeprefix("team/docs/"), bytes(len(content)))
    with pytest.raises(IndexDamagedError, match=rf"{part}.* of s3://.* has other content .*`cdesearch index --rebuild"):
        hits(Index.open(store.place), tiny_encoder)


@pytest.mark.slow
def test_the_commands_name_the_address_and_never_a_key_or_the_cache(store, run, tiny_checkpoint, tmp_path, monkeypatch):
    run()
    found = cdesearch("query", QUERY, "--index", store.address, "--json", cwd=tmp_path)
    assert len(json.loads(found.stdout)["hits"]) == 10
    status = cdesearch("status", store.address, "--json", cwd=tmp_path)
    assert json.loads(status.stdout)["new_files"] == 0
    move_to_computer("second", tmp_path, monkeypatch)
    status = cdesearch("status", "--index", store.address, cwd=tmp_path)
    assert "new files" not in status.stdout, "the folders are those of another computer"
    refused = cdesearch("query", QUERY, "--index", store.address, cwd=tmp_path, code=2)
    assert f"cdesearch trust {store.address}" in refused.stderr
    cdesearch("trust", store.address, "--yes", cwd=tmp_path)
    found = cdesearch("query", QUERY, "--index", store.address, cwd=tmp_path)
    refused = cdesearch("doctor", store.address, cwd=tmp_path, code=2)
    assert "needs an index on a disk" in refused.stderr
    shown = "".join(one.stdout + one.stderr for one in (found, status, refused))
    assert "XDG_CACHE_HOME" not in shown and "computer-second" not in shown
    for content in store.objects().values():
        assert SECRET.encode() not in content and b"AKIAEXAMPLE" not in content


def test_an_empty_bucket_and_a_wrong_address_have_one_line(store, tmp_path):
    empty = cdesearch("query", "moon", "--index", store.address, cwd=tmp_path, code=2)
    assert f"There is no index in {store.address}" in empty.stderr
    missing = cdesearch("query", "moon", "--index", f"s3://no-{store.bucket}/docs", cwd=tmp_path, code=2)
    assert "does not exist" in missing.stderr
    secret = cdesearch("query", "moon", "--index", "s3://key:hidden@bucket/docs", cwd=tmp_path, code=2)
    assert "hidden" not in secret.stderr


@pytest.mark.slow
def test_a_server_answers_from_a_bucket_and_finds_what_was_published_since(store, run, docs, monkeypatch):
    run()
    monkeypatch.setattr(snapshot, "FRESH_SECONDS", 0.1)
    (docs / "new.md").write_text("zebra zebra zebra")
    with running_server([store.place]) as server:

        def paths():
            return [hit["path"] for hit in server.json("search", q="zebra", mode="text")["hits"]]

        assert "new.md" not in paths()
        run()
        wait_until(lambda: "new.md" in paths())
        store.is_gone = True
        gone = server.get("search", params={"q": "moon"})
        assert gone.status_code == 502 and "does not exist" in gone.text
        store.is_gone = False
        wait_until(lambda: "new.md" in paths())
