"""Searches of a process take changes of files in, look at the files while they search, and say what they lack."""

import time

import pytest
from built import write_files
from served_pages import write_pages

import cdesearch
from cdesearch import fresh
from cdesearch.errors import NotIndexedError
from cdesearch.fresh import Check, UpToDate
from cdesearch.search.request import SearchRequest
from cdesearch.search.searcher import Searcher
from cdesearch.search.together import Together
from cdesearch.store.changes import may_be_behind
from cdesearch.store.index import Index

XYLOPHONE = SearchRequest("xylophone", 1, "text")


@pytest.fixture
def docs(tmp_path, tiny_checkpoint):
    folder = write_pages(tmp_path / "docs")
    cdesearch.build(folder, model=tiny_checkpoint).close()
    return folder


@pytest.fixture
def searcher(docs):
    with Searcher(Index.open(docs)) as searcher:
        yield searcher


def paths(result):
    return [hit.chunk.path for hit in result.hits]


def test_each_answer_has_the_small_changes(docs, searcher, monkeypatch):
    monkeypatch.setattr(fresh, "LONG_SECONDS", 0)
    service = UpToDate(searcher, [(searcher, Check())])
    assert paths(service.search(SearchRequest("moon", 1))) == ["space/moon.txt"]
    (docs / "new.md").write_text("xylophone")
    assert not service.search(XYLOPHONE).hits, "the files have just been checked"
    monkeypatch.setattr(fresh, "AGAIN_SECONDS", 0)
    assert paths(service.search(XYLOPHONE)) == ["new.md"] and service.indexes[""].manifest.n_documents == 7
    (docs / "new.md").write_text("---\nstatus: open\n---\n\nThe xylophone.")
    assert paths(service.search(SearchRequest("xylophone", 1, "text", filter="status=open"))) == ["new.md"]
    with pytest.raises(NotIndexedError):
        service.search(SearchRequest("xylophone", 1, "text", filter="colour=red"))


def test_files_are_looked_at_again_only_after_the_system_has_reported_a_change(docs, searcher, monkeypatch):
    looked = []
    monkeypatch.setattr(fresh, "AGAIN_SECONDS", 0)
    monkeypatch.setattr(fresh, "LONG_SECONDS", 0)
    monkeypatch.setattr(fresh, "may_be_behind", lambda index: looked.append(index) or may_be_behind(index))
    service = UpToDate(searcher, [(searcher, Check())])
    for _ in range(5):
        assert not service.search(XYLOPHONE).hits
    assert len(looked) == 2
    (docs / "new.md").write_text("xylophone")
    deadline = time.monotonic() + 10
    while not service.search(XYLOPHONE).hits:
        assert time.monotonic() < deadline
    assert len(looked) == 3


def test_a_check_that_takes_long_delays_no_answer(docs, searcher, monkeypatch):
    monkeypatch.setattr(fresh, "SECONDS", 0.05)
    monkeypatch.setattr(fresh, "may_be_behind", lambda _: time.sleep(1) or True)
    (docs / "new.md").write_text("xylophone")
    said = []
    service = UpToDate(searcher, [(searcher, Check())], said.append)
    for _ in range(2):
        started = time.monotonic()
        assert not service.search(XYLOPHONE).hits and time.monotonic() - started < 0.9
    assert said == [fresh.UNCHECKED]
    time.sleep(1)
    assert paths(service.search(XYLOPHONE)) == ["new.md"], "the next search uses what the check has found"


def test_every_index_is_updated_and_a_line_names_its_folder(docs, tmp_path, tiny_checkpoint):
    other = write_files(tmp_path / "other", {"a.md": "the water"})
    cdesearch.build(other, model=tiny_checkpoint).close()
    (docs / "new.md").write_text("xylophone")
    (other / "new.md").write_text("xylophone " * 20_000)
    said = []
    with Together.open({"docs": Index.open(docs), "other": Index.open(other)}) as together:
        members = [(member, Check()) for member in together.members.values()]
        assert paths(UpToDate(together, members, said.append).search(XYLOPHONE)) == ["new.md"]
    assert said == [
        f"{other}: This answer lacks 1 new, 0 modified and 0 deleted files: they are being indexed in the background."
    ]
