import shutil
from datetime import timedelta

import pytest
from built import assert_same
from object_server import move_to_computer

from cdesearch.errors import (
    BucketError,
    IndexBusyError,
    IndexDamagedError,
    IndexUntrustedError,
    InputError,
    SourceError,
)
from cdesearch.progress import Silent
from cdesearch.store.bucket.objects import bucket_at
from cdesearch.store.bucket.pointer import read_pointer
from cdesearch.store.bucket_address import address_of, parse_place
from cdesearch.store.index import Index
from cdesearch.store.trust import TrustRequest, confirm
from indexer.build import build
from indexer.embedding import stages
from indexer.publishing import collection
from indexer.settings import Options


def contents(store):
    index = Index.open(store.place)
    table = index.chunks.to_arrow().sort_by("id")
    return table.drop_columns(index.vectors.columns), index.vectors_in(table)


def live(store):
    return read_pointer(bucket_at(address_of(store.place)))


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


class Told(Silent):
    """Keeps the notes of a run."""

    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


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
    build([docs], Options(index=docs.parent / "local", model=tiny_checkpoint), Silent())
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
    pointer = live(store)
    assert generations(store) == {pointer.generation, *pointer.before}, "the upload of the loser is removed"
    assert Index.open(store.place).manifest.n_documents == 14
    assert run().embedded == 0
    assert Index.open(store.place).manifest.n_documents == 14


@pytest.mark.slow
def test_of_two_first_writers_one_wins(store, run, docs, tiny_checkpoint, tmp_path, monkeypatch):
    def run_elsewhere():
        move_to_computer("second", tmp_path, monkeypatch)
        run()
        move_to_computer("first", tmp_path, monkeypatch)

    with pytest.raises(IndexBusyError):
        build([docs], Options(index=store.place, model=tiny_checkpoint), AtUpload(run_elsewhere))
    assert generations(store) == {live(store).generation}


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
    told = Told()
    build([docs], Options(index=store.place, model=run.model), told)
    assert told.notes == ["An earlier run could not publish what it has built. This run publishes it."]
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
def test_old_generations_are_removed_at_a_write_after_the_grace_time(store, run, docs, monkeypatch):
    names = []
    for number in range(3):
        (docs / f"new {number}.md").write_text("the bread is in the river")
        run()
        names.append(live(store).generation)
    assert generations(store) == set(names)
    assert live(store).before == (names[1], names[0])
    monkeypatch.setattr(collection, "GRACE", timedelta(seconds=-1))
    (docs / "last.md").write_text("the bread is in the river")
    run()
    assert generations(store) == {live(store).generation}
    (docs / "last.md").write_text("the moon is in the river")
    run()
    assert len(live(store).before) == 1


@pytest.mark.slow
def test_an_upload_that_nobody_published_is_removed_after_a_day(store, run, docs, monkeypatch):
    run()
    bucket_at(address_of(store.place)).write("generations/aaaaaaaaaaaa/context.safetensors", b"left")
    (docs / "new.md").write_text("the bread is in the river")
    run()
    assert "aaaaaaaaaaaa" in generations(store)
    monkeypatch.setattr(collection, "ABANDONED", timedelta(seconds=-1))
    (docs / "new.md").write_text("the moon is in the river")
    run()
    assert "aaaaaaaaaaaa" not in generations(store)


@pytest.mark.slow
def test_foreign_objects_below_the_generations_are_never_removed(store, run, docs, monkeypatch):
    run()
    bucket = bucket_at(address_of(store.place))
    nested = [f"cccccccccccc/{name}" for name in ("INDEX", "generations/aaaaaaaaaaaa/checksums.json")]
    names = {f"generations/{name}" for name in ("bbbbbbbbbbbb/photo.jpg", "bbbbbbbbbbbb/manifest.json", *nested)}
    for name in names:
        bucket.write(name, b"mine")
    monkeypatch.setattr(collection, "GRACE", timedelta(seconds=-1))
    monkeypatch.setattr(collection, "ABANDONED", timedelta(seconds=-1))
    (docs / "new.md").write_text("the bread is in the river")
    run()
    assert names <= set(bucket.list("generations"))


def test_every_file_of_a_generation_is_removed_with_it(tmp_path, tiny_checkpoint):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(
        "Die Dateien im Arbeitsverzeichnis werden gelöscht, wenn der Benutzer geht."
    )
    build([tmp_path / "docs"], Options(model=tiny_checkpoint), Silent())
    generation = Index.open(tmp_path / "docs").generation
    files = {file.relative_to(generation).as_posix() for file in generation.rglob("*") if file.is_file()}
    assert "vocabulary.json" in files
    objects = {f"generations/{generation.name}/{file}": None for file in files}
    assert collection.generations_in(objects) == {generation.name: list(objects)}


def test_nothing_is_written_beside_foreign_objects(store, run):
    bucket_at(address_of(store.place)).write("report.txt", b"mine")
    with pytest.raises(InputError, match="is not empty and is not an index"):
        run()
    assert list(store.objects()) == ["team/docs/report.txt"]


@pytest.mark.parametrize("name", ["INDEX", "CURRENT"])
@pytest.mark.parametrize("rebuild", [False, True])
def test_foreign_objects_with_the_names_of_an_index_are_not_replaced(store, run, name, rebuild):
    bucket_at(address_of(store.place)).write(name, b"MANIFEST-000004\n")
    with pytest.raises(InputError, match="is not empty and is not an index") as refused:
        run(rebuild=rebuild)
    assert "--rebuild" not in str(refused.value)
    assert store.objects() == {f"team/docs/{name}": b"MANIFEST-000004\n"}


def test_an_object_written_during_the_build_is_not_replaced(store, docs, tiny_checkpoint):
    class AtFirstStage(Silent):
        def stage(self, name, total):
            bucket_at(address_of(store.place)).write("INDEX", b"mine")
            return super().stage(name, total)

    with pytest.raises(InputError, match="is not empty and is not an index"):
        build([docs], Options(index=store.place, model=tiny_checkpoint), AtFirstStage())
    assert store.objects() == {"team/docs/INDEX": b"mine"}


@pytest.mark.parametrize("begins_later", [False, True])
def test_a_server_that_stores_nothing_is_named_and_nothing_counts_as_published(
    store, run, docs, tiny_checkpoint, begins_later
):
    class AtPublication(Silent):
        def stage(self, name, total):
            store.is_login_page = True
            return super().stage(name, total)

    store.is_login_page = not begins_later
    for rebuild in (False, True):
        options = Options(index=store.place, model=tiny_checkpoint, rebuild=rebuild)
        with pytest.raises(BucketError, match="does not answer as an object store does"):
            build([docs], options, AtPublication())
    store.is_login_page = False
    assert not store.objects()
    assert run().embedded == 0 or not begins_later


def test_an_index_inside_a_generation_of_another_one_is_refused(store, run, docs, tiny_checkpoint):
    place = parse_place(f"{store.address}/generations/0123456789ab/notes")
    with pytest.raises(InputError, match="is the place of a generation of another index"):
        build([docs], Options(index=place, model=tiny_checkpoint), Silent())
    assert not store.objects()


def test_the_copy_of_an_emptied_bucket_survives_a_run_that_fails_and_is_published_again(store, run, docs):
    run(vectors="int8")
    before = contents(store)
    bucket = bucket_at(address_of(store.place))
    bucket.remove(bucket.list(""))
    store.is_read_only = True
    for rebuild in (False, True):
        with pytest.raises(BucketError):
            build([], Options(index=store.place, model=run.model, rebuild=rebuild), Silent())
    store.is_read_only = False
    with pytest.raises(SourceError):
        build([docs / "absent"], Options(index=store.place, model=run.model), Silent())
    told = Told()
    report = build([], Options(index=store.place, model=run.model), told)
    assert told.notes == [f"{store.address} no longer holds the index. This run continues the copy on this computer."]
    assert report.embedded == 0 and Index.open(store.place).manifest.vectors == "int8"
    assert_same(contents(store), before)


def test_a_reader_without_rights_to_write_gets_one_error_and_keeps_its_work(store, run):
    store.is_read_only = True
    with pytest.raises(BucketError, match=r"You may not write to s3://.*403 Forbidden, AccessDenied"):
        run()
    store.is_read_only = False
    assert run().embedded == 0


def test_without_sources_a_new_index_is_refused(store, tiny_checkpoint):
    with pytest.raises(Exception, match=r"There is no index in s3://.* yet"):
        build([], Options(index=store.place, model=tiny_checkpoint), Silent())


@pytest.mark.slow
@pytest.mark.parametrize("file", ["tables/chunks.lance/data", "context.safetensors"])
def test_a_rebuild_mends_an_index_with_a_damaged_object_and_keeps_its_settings(
    store, run, docs, tmp_path, monkeypatch, file
):
    run(vectors="int8")
    move_to_computer("second", tmp_path, monkeypatch)
    bucket = bucket_at(address_of(store.place))
    bucket.remove([name for name in bucket.list("generations") if file in name])
    (docs / "new.md").write_text("the bread is in the river")
    with pytest.raises(IndexDamagedError, match=r"Run `cdesearch index --rebuild --index s3://[^ ]*`\."):
        run()
    confirm(store.place, TrustRequest(None, (str(docs),)))
    build([], Options(index=store.place, rebuild=True, model=run.model), Silent())
    index = Index.open(store.place)
    assert (index.manifest.n_documents, index.manifest.vectors) == (13, "int8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CURRENT", "checksums.json"])
def test_a_rebuild_of_named_files_replaces_an_index_whose_settings_are_lost(
    store, run, docs, tmp_path, monkeypatch, name
):
    run()
    move_to_computer("second", tmp_path, monkeypatch)
    bucket = bucket_at(address_of(store.place))
    damaged = name if name == "CURRENT" else f"generations/{live(store).generation}/{name}"
    bucket.write(damaged, b"damaged")
    for options in ({}, {"rebuild": True}):
        with pytest.raises(IndexDamagedError, match=r"`cdesearch index --rebuild PATH --index s3://.*`"):
            build([], Options(index=store.place, model=run.model, **options), Silent())
    run(rebuild=True)
    assert Index.open(store.place).manifest.n_documents == 12


def test_a_build_for_a_bucket_has_no_stages(store, run, docs, monkeypatch):
    """Nobody could search them."""
    monkeypatch.setattr(stages, "STAGED_FROM", 1)
    monkeypatch.setattr(stages, "SECONDS", 0.0)
    bucket, disk = Told(), Told()
    build([docs], Options(index=store.place, model=run.model), bucket)
    build([docs], Options(index=docs.parent / "local", model=run.model), disk)
    assert not any("Searchable" in text for text in bucket.notes)
    assert any("Searchable" in text for text in disk.notes)


def live_copy(store):
    copy = address_of(store.place).working_copy
    return copy / "generations" / (copy / "CURRENT").read_text().strip()


def remove_context(copy):
    (copy / "context.safetensors").unlink()


def remove_checksums(copy):
    (copy / "checksums.json").unlink()


def remove_generation(copy):
    shutil.rmtree(copy)


def damage_current(copy):
    (copy.parents[1] / "CURRENT").write_text("damaged")


def mark_with_another_format(copy):
    (copy.parents[1] / "INDEX").write_text("cdesearch index\nformat 5\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage", [remove_context, remove_checksums, remove_generation, damage_current, mark_with_another_format]
)
@pytest.mark.parametrize("was_published", [True, False])
def test_a_damaged_copy_in_the_cache_is_made_again(store, run, docs, damage, was_published):
    if was_published:
        run()
    else:
        store.is_read_only = True
        with pytest.raises(BucketError):
            run()
        store.is_read_only = False
    damage(live_copy(store))
    (docs / "new.md").write_text("the bread is in the river")
    report = run()
    assert report.n_documents == Index.open(store.place).manifest.n_documents == 13
    assert report.embedded == 1 or not was_published


def test_a_link_in_place_of_the_copy_is_named_by_its_path_in_the_cache(store, run, tmp_path):
    copy = address_of(store.place).working_copy
    copy.parent.mkdir(parents=True)
    copy.symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(IndexUntrustedError, match=r"local in .*XDG_CACHE_HOME.* is a symbolic link") as refused:
        run()
    assert "s3://" not in str(refused.value) and "--index" not in str(refused.value)


@pytest.mark.slow
def test_a_cluster_builds_an_index_in_a_bucket_that_one_machine_updates(store, run, docs):
    pytest.importorskip("ray")
    run()
    expected = contents(store)
    run(rebuild=True, engine="ray", workers=1)
    assert_same(expected, contents(store))
    (docs / "new.md").write_text("the bread is in the river")
    report = run(engine="ray")
    assert report.embedded == 1
    assert "new.md" in contents(store)[0]["path"].to_pylist()
