import json
import sys
import time
from dataclasses import replace
from urllib.request import Request, urlopen

import boto3
import pytest
from built import make_index
from notes import Notes
from object_server import SECRET, put
from running_server import running_server

import cdesearch
from cdesearch.cli import main
from cdesearch.cli.hits.render import shown_place
from cdesearch.errors import BucketError, IndexUntrustedError, InputError, SourceError
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.bucket.objects import bucket_at
from cdesearch.store.copies import address_of_copies, copies_of
from cdesearch.store.index import Index
from cdesearch.store.layout import still_answering
from cdesearch.store.place import BucketAddress, parse_place
from cdesearch.store.trust import confirm
from indexer.build import build
from indexer.files.bucket_copies import copied
from indexer.settings import Options


@pytest.fixture
def files(store):
    """The address of two files in a bucket."""
    address = BucketAddress("s3", store.bucket, "files")
    put(address, "moon.md", b"# Moon\nThe moon is a stone.")
    put(address, "deep/er/bread.md", b"# Bread\nThe bread is in the house.")
    return address


@pytest.fixture
def run(files, tmp_path, tiny_checkpoint):
    """Build or update an index of the files in the bucket."""

    def run(*paths):
        make_index(list(paths), index=tmp_path / "index", model=tiny_checkpoint)
        return {row["path"] for row in Index(tmp_path / "index").chunks.to_arrow().to_pylist()}

    return run


def downloads(store):
    return [one for one in store.requests if one.startswith("GET") and "/files/" in one]


@pytest.mark.slow
def test_files_in_a_bucket_are_indexed_and_updates_download_only_what_has_changed(store, files, run):
    source = copies_of(files)
    assert address_of_copies(source) == files
    assert run(files) == {"moon.md", "deep/er/bread.md"}
    store.requests.clear()
    assert run() == {"moon.md", "deep/er/bread.md"} and downloads(store) == []
    bucket_at(files).remove(["deep/er/bread.md"])
    put(files, "new.md", b"A new file in the house.")
    time.sleep(1.1)  # a listing has the time of change in whole seconds
    put(files, "moon.md", b"# Moon\nThe moon is a stem.")
    assert run() == {"moon.md", "new.md"}
    assert len(downloads(store)) == 2
    assert "stem" in (source / "moon.md").read_text() and not (source / "deep").exists()


def test_the_python_function_and_the_command_take_an_address(store, files, tmp_path, tiny_checkpoint):
    index = cdesearch.build(str(files), index=tmp_path / "python", model=tiny_checkpoint)
    assert index.search("the moon", k=1)[0].chunk.path == "moon.md"
    assert SECRET not in (Index(tmp_path / "python").generation / "manifest.json").read_text()


def test_an_index_of_files_in_a_bucket_needs_a_place(files, tiny_checkpoint):
    with pytest.raises(InputError, match="needs a place"):
        make_index([parse_place(str(files))], model=tiny_checkpoint)


def test_a_prefix_without_files_and_a_bucket_that_vanishes_are_told_and_lose_nothing(store, files, run):
    with pytest.raises(SourceError, match=r"There are no files below s3://.*/nothing"):
        run(parse_place(f"s3://{store.bucket}/nothing"))
    before = run(parse_place(str(files)))
    store.is_gone = True
    with pytest.raises(BucketError, match="does not exist"):
        run()
    store.is_gone = False
    assert run() == before


def test_names_that_cannot_be_files_are_left_out_and_links_in_the_copy_are_not_followed(store, files, tmp_path):
    put(files, "moon.md/part.md", b"An object below an object.")
    folder = copies_of(files)
    folder.mkdir(parents=True)
    (tmp_path / "foreign.md").write_text("foreign")
    (folder / "moon.md").symlink_to(tmp_path / "foreign.md")
    (folder / "linked").symlink_to(tmp_path)
    put(files, f"{'n' * 300}.md", b"A name that no file can have.")
    notes = Notes()
    assert copied(files, notes) == folder
    assert notes.lines == [
        f"This computer cannot store 2 objects below {files} as files, such as moon.md. They are not indexed."
    ]
    files_of_copy = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files_of_copy == {"deep/er/bread.md", "moon.md/part.md"}
    assert (tmp_path / "foreign.md").read_text() == "foreign" and not (folder / "linked").exists()


@pytest.mark.parametrize("name", ["files//double.md", "files/../up.md"])
def test_an_object_whose_name_is_not_a_path_is_named(store, files, run, name):
    boto3.client("s3", endpoint_url=store.url).put_object(Bucket=store.bucket, Key=name, Body=b"text")
    with pytest.raises(BucketError, match=r"whose name is not a path: files/"):
        run(parse_place(str(files)))


def test_json_of_the_command_and_of_the_server_has_the_address_of_a_file(files, run, tmp_path, monkeypatch, capsys):
    run(parse_place(str(files)))
    monkeypatch.setattr(
        sys, "argv", ["cdesearch", "query", "moon", "--mode", "text", "--json", "--index", str(tmp_path / "index")]
    )
    assert not main.run()
    (hit,) = json.loads(capsys.readouterr().out)["hits"]
    assert hit["url"] == f"{files}/moon.md"
    with running_server([tmp_path / "index"]) as server:
        (hit,) = server.json("search", q="moon", mode="text")["hits"]
    assert hit["url"] == f"{files}/moon.md"


@pytest.mark.slow
def test_a_source_in_a_bucket_can_be_added_and_removed(docs, files, tmp_path, tiny_checkpoint, monkeypatch):
    make_index([docs], index=tmp_path / "index", model=tiny_checkpoint)
    for action, indexed in (("add", 14), ("remove", 12)):
        monkeypatch.setattr(
            sys, "argv", ["cdesearch", "sources", action, str(files), "--index", str(tmp_path / "index")]
        )
        assert not main.run()
        assert Index(tmp_path / "index").manifest.n_documents == indexed


@pytest.mark.slow
def test_another_computer_shows_addresses_and_updates_an_index_of_files_in_a_bucket(
    store, files, tmp_path, tiny_checkpoint, monkeypatch
):
    others = BucketAddress("s3", store.bucket, "others")
    put(others, "river.md", b"# River\nThe river is in the house.")
    for name, sources in (("one", [files]), ("both", [files, others])):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache of the first computer"))
        options = Options(index=parse_place(f"s3://{store.bucket}/{name}"), model=tiny_checkpoint)
        n_documents = build([parse_place(str(one)) for one in sources], options, Silent()).documents
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache of another computer for {name}"))
        options = replace(options, index=parse_place(f"s3://{store.bucket}/{name}"))
        index = Index(options.index)
        assert index.sources == tuple(map(copies_of, sources))
        with Searcher(index) as searcher:
            (hit, *_) = searcher.search("moon", mode="text")
        assert shown_place(hit.chunk, hit.chunk.location, index.root) == f"{files}/moon.md:1"
        status = still_answering(index.sources[0], index.sources, index.place)
        assert status.startswith(f"{files} was not yet downloaded to this computer.")
        put(files, f"{name}.md", b"A new file in the house.")
        with pytest.raises(IndexUntrustedError, match=f"asks for the content of {files}"):
            build([], options, Silent())
        if name == "both":
            confirm(index.place, index.trust_request)
        named = [parse_place(str(one)) for one in sources if name == "one"]
        report = build(named, options, Silent())
        assert (report.embedded, report.documents) == (1, n_documents + 1)


@pytest.mark.slow
def test_an_index_among_the_files_of_a_bucket_is_not_indexed(store, files, tiny_checkpoint):
    source, place = parse_place(str(files)), parse_place(f"{files}/index")
    notes = Notes()
    for number, new in enumerate(("The cat is in the house.", "The dog is in the house.")):
        put(files, f"indexes/{number}.md", new.encode())
        make_index([source], notes, index=place, model=tiny_checkpoint)
        assert Index(place).manifest.n_documents == 3 + number
    assert f"The index in {files}/index is not indexed itself." in notes.lines
    put(files, "index/beside.md", b"A file beside the objects of an index.")
    copies = copied(parse_place(f"{files}/index"), Silent())
    assert [path.name for path in copies.iterdir()] == ["beside.md"]


def test_empty_objects_are_not_downloaded(store, files):
    for name in ("files/", "files/deep/", "files/lone/"):
        urlopen(Request(f"{store.url}/{store.bucket}/{name}", b"", method="PUT")).close()
    notes = Notes()
    for _ in range(2):
        folder = copied(files, notes)
    assert not notes.lines and len(downloads(store)) == 2
    assert (folder / "lone").read_bytes() == b""
