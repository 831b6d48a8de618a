import shutil
from datetime import timedelta

import pytest
from built import assert_same, make_index
from notes import Notes
from object_server import move_to_computer, put

import indexer.publishing as working_copy
from cdesearch.errors import BucketError, IndexBusyError, IndexDamagedError, InputError
from cdesearch.progress import Silent
from cdesearch.store.bucket.objects import bucket_at
from cdesearch.store.bucket.snapshot import cache_of, read_pointer
from cdesearch.store.index import Index
from cdesearch.store.trust import TrustRequest, confirm
from indexer.build import build
from indexer.publishing import WORKING_COPY
from indexer.settings import Options


def contents(store):
    index = Index.open(store.place)
    table = index.chunks.to_arrow().sort_by("id")
    return table.drop_columns(index.vectors.columns), index.vectors_in(table)


def live(store):
    return read_pointer(bucket_at(store.place))[0]


def generations(store):
    return {name.split("/")[3] for name in store.objects() if "/generations/" in name}


class AtUpload(Silent):
    """Calls a function when an upload begins."""

    def __init__(self, call):
        self.call = call

    def stage(self, name, total):
        if name == "Uploading":
            self.call()
        return super().stage(name, total)


@pytest.mark.slow
def test_an_update_sends_only_what_has_changed_and_lets_the_server_copy_the_rest(store, run, docs, tiny_checkpoint):
    run()
    (docs / "new.md").write_text("the bread is in the river")
    del store.requests[:]
    run()
    copied = [request for request in store.requests if request.startswith("COPY")]
    assert any(request.endswith("context.safetensors") for request in copied)
    sent = [request for request in store.requests if request.startswith("PUT") and "context" in request]
    assert not sent
    assert not [request for request in store.requests if request.startswith("GET") and ".lance" in request]
    updated = contents(store)
    make_index([docs], index=docs.parent / "local", model=tiny_checkpoint)
    index = Index.open(docs.parent / "local")
    assert updated[0]["id"].to_pylist() == index.chunks.to_arrow().sort_by("id")["id"].to_pylist()


def test_a_run_without_changes_publishes_nothing(store, run):
    run()
    before = store.objects()
    assert not run().changed
    assert store.objects() == before


@pytest.mark.slow
def test_another_computer_continues_the_index(store, run, docs, tmp_path, monkeypatch):
    run()
    move_to_computer("second", tmp_path, monkeypatch)
    (docs / "new.md").write_text("the bread is in the river")
    report = run()
    assert report.embedded == 1, "the vectors of the others came from the bucket"
    before = contents(store)
    move_to_computer("first", tmp_path, monkeypatch)
    assert not run().changed
    assert_same(contents(store), before)


@pytest.mark.slow
def test_of_two_writers_one_wins_and_the_other_says_so(store, run, docs, tiny_checkpoint, tmp_path, monkeypatch):
    run()

    def run_elsewhere():
        move_to_computer("second", tmp_path, monkeypatch)
        (docs / "second.md").write_text("the dog is in the river")
        run()
        move_to_computer("first", tmp_path, monkeypatch)

    (docs / "first.md").write_text("the bread is in the river")
    options = Options(index=store.place, model=tiny_checkpoint)
    with pytest.raises(IndexBusyError, match=r"s3://.* since this run began.* Run the same command again"):
        build([docs], options, AtUpload(run_elsewhere))
    assert len(generations(store)) == 2, "the upload of the loser is removed"
    assert Index.open(store.place).manifest.n_documents == 14
    assert run().embedded == 0
    assert Index.open(store.place).manifest.n_documents == 14


def test_a_bucket_that_vanishes_during_the_upload_loses_nothing(store, run, docs):
    def vanish(method, path):
        if method == "PUT" and path.endswith("files.jsonl"):
            store.is_gone = True

    store.before = vanish
    with pytest.raises(BucketError, match="does not exist"):
        run()
    store.before, store.is_gone = None, False
    with pytest.raises(Exception, match="There is no index in s3://"):
        Index.open(store.place)
    report = run()
    assert report.embedded == 0
    assert Index.open(store.place).manifest.n_documents == 12


def test_an_upload_that_was_complete_but_not_published_is_not_sent_again(store, run, docs):
    def vanish(method, path):
        if method == "PUT" and path.endswith("CURRENT"):
            store.is_gone = True

    store.before = vanish
    with pytest.raises(BucketError):
        run()
    store.before, store.is_gone = None, False
    del store.requests[:]
    told = Notes()
    make_index([docs], told, index=store.place, model=run.model)
    assert told.lines == ["An earlier run could not publish what it has built. This run publishes it."]
    sent = [request.rpartition("/")[2] for request in store.requests if request.startswith("PUT")]
    assert sorted(sent) == ["CURRENT", "INDEX", "checksums.json"]


@pytest.mark.slow
def test_a_write_of_the_pointer_whose_answer_is_lost_counts(store, run, docs):
    run()
    (docs / "new.md").write_text("the bread is in the river")
    store.loses_answer_to = f"PUT /{store.bucket}/team/docs/CURRENT"
    assert run().changed
    assert not store.loses_answer_to
    assert Index.open(store.place).manifest.n_documents == 13


@pytest.mark.slow
def test_generations_that_nobody_uses_any_more_are_removed_after_a_day(store, run, docs, monkeypatch):
    names = []
    for number, kept in enumerate((working_copy.KEPT, working_copy.KEPT, timedelta(seconds=-1))):
        monkeypatch.setattr(working_copy, "KEPT", kept)
        (docs / f"new {number}.md").write_text("the bread is in the river")
        run()
        names.append(live(store))
        if not number:
            put(store.place, "generations/aaaaaaaaaaaa/context.safetensors", b"an upload without end")
        if number < 2:
            assert generations(store) == {"aaaaaaaaaaaa", *names}
    assert generations(store) == set(names[1:])


@pytest.mark.parametrize(("name", "rebuild"), [("report.txt", False), ("INDEX", True), ("CURRENT", True)])
def test_foreign_objects_are_not_replaced_even_if_they_have_the_names_of_an_index(store, run, name, rebuild):
    put(store.place, name, b"MANIFEST-000004\n")
    with pytest.raises(InputError, match="is not empty and is not an index") as refused:
        run(rebuild=rebuild)
    assert "--rebuild" not in str(refused.value)
    assert store.objects() == {f"team/docs/{name}": b"MANIFEST-000004\n"}


def test_a_reader_without_rights_to_write_gets_one_error_and_keeps_its_work(store, run):
    store.is_read_only = True
    with pytest.raises(BucketError, match=r"You may not write to s3://.*403 Forbidden, AccessDenied"):
        run()
    store.is_read_only = False
    assert run().embedded == 0


@pytest.mark.slow
@pytest.mark.parametrize("file", ["tables/chunks.lance/data", "context.safetensors"])
def test_a_rebuild_mends_an_index_with_a_damaged_object_and_keeps_its_settings(
    store, run, docs, tmp_path, monkeypatch, file
):
    run(vectors="int8")
    move_to_computer("second", tmp_path, monkeypatch)
    bucket = bucket_at(store.place)
    bucket.remove([name for name in bucket.list("generations") if file in name])
    (docs / "new.md").write_text("the bread is in the river")
    with pytest.raises(IndexDamagedError, match=r"Run `cdesearch index --rebuild --index s3://[^ ]*`\."):
        run()
    confirm(store.place, TrustRequest(None, (str(docs),)))
    make_index([], index=store.place, rebuild=True, model=run.model)
    index = Index.open(store.place)
    assert (index.manifest.n_documents, index.manifest.vectors) == (13, "int8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CURRENT", "checksums.json"])
def test_a_rebuild_of_named_files_replaces_an_index_whose_settings_are_lost(
    store, run, docs, tmp_path, monkeypatch, name
):
    run()
    move_to_computer("second", tmp_path, monkeypatch)
    bucket = bucket_at(store.place)
    damaged = name if name == "CURRENT" else f"generations/{live(store)}/{name}"
    put(bucket.address, damaged, b"damaged")
    for options in ({}, {"rebuild": True}):
        with pytest.raises(IndexDamagedError, match=r"`cdesearch index --rebuild PATH --index s3://.*`"):
            make_index([], index=store.place, model=run.model, **options)
    run(rebuild=True)
    assert Index.open(store.place).manifest.n_documents == 12


DAMAGES = {
    "no context": lambda copy: (copy / "context.safetensors").unlink(),
    "no generation": shutil.rmtree,
    "other pointer": lambda copy: (copy.parents[1] / "CURRENT").write_text("damaged"),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("was_published", [True, False])
def test_a_damaged_copy_in_the_cache_is_made_again(store, run, docs, damage, was_published):
    if was_published:
        run()
    else:
        store.is_read_only = True
        with pytest.raises(BucketError):
            run()
        store.is_read_only = False
    copy = cache_of(store.place) / WORKING_COPY
    DAMAGES[damage](copy / "generations" / (copy / "CURRENT").read_text().strip())
    (docs / "new.md").write_text("the bread is in the river")
    report = run()
    assert report.documents == Index.open(store.place).manifest.n_documents == 13
    assert report.embedded == 1 or not was_published
