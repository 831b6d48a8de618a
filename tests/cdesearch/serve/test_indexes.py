import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from running_server import running_server, wait_until
from served_pages import damage, update

import cdesearch
from cdesearch.search.searcher import Searcher
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.store.index import Index
from cdesearch.store.trust import TrustRequest, confirm


@pytest.fixture
def served(own_pages):
    """An index of `own_pages` that refreshes only when a test says so."""
    with Searcher(Index.open(own_pages)) as searcher:
        searcher.warm()
        yield ServedIndex("own", searcher)


def n_hits(served):
    return len(served.searcher.search("the engine", 100))


def test_indexes_of_the_same_model_share_the_loaded_model(pages, own_pages):
    with ServedIndexes.open([pages, own_pages]) as indexes:
        first, second = indexes
        assert first.searcher.encoder is second.searcher.encoder
        assert indexes.names == ("pages", "own")
        assert indexes[None] is first
        assert indexes["own"] is second


def test_an_index_is_opened_once_and_equal_names_get_a_number(pages, own_pages, tmp_path):
    other = shutil.copytree(own_pages, tmp_path / "other" / "own")
    with ServedIndexes.open([own_pages, own_pages / ".cdesearch", other]) as indexes:
        assert indexes.names == ("own", "own-2")


@pytest.mark.slow
def test_a_damaged_generation_is_tried_once_while_the_old_one_answers(served, own_pages, tiny_checkpoint):
    before, index, refresh = n_hits(served), served.index, served.searcher.refresh
    update(own_pages, tiny_checkpoint, 1)
    damage(own_pages)
    assert not refresh() and "damaged" in served.status()[1].cause
    refused = served.searcher.refused
    assert not refresh() and served.searcher.refused is refused  # the generation was not opened a second time
    assert served.index is index and n_hits(served) == before
    cdesearch.build(own_pages, model=tiny_checkpoint, rebuild=True).close()
    assert refresh() and served.status()[1] is None


def n_files(served):
    return served.searcher.read(lambda index: len(list(index.file_records())))


@pytest.mark.slow
@pytest.mark.parametrize("count", [n_hits, n_files])
def test_the_newest_generation_answers_instead_of_one_that_was_removed(served, own_pages, tiny_checkpoint, count):
    before = count(served)
    for number in range(3):  # the generation before the newest one is kept
        update(own_pages, tiny_checkpoint, number)
    assert not served.index.generation.exists() and count(served) == before + 3


@pytest.mark.slow
def test_no_request_fails_while_generations_are_replaced(own_pages, tiny_checkpoint, closed_checkpoint):
    stop, failures, answered = threading.Event(), [], [0]

    def ask(server):
        while not stop.is_set():
            response = server.get("search", params={"q": "the engine", "k": 50})
            answered[0] += 1
            if response.status_code != 200 or not response.json()["hits"]:
                failures.append(response.text)

    with running_server([own_pages]) as server, ThreadPoolExecutor() as pool:
        asking = [pool.submit(ask, server) for _ in range(3)]
        try:
            for number, checkpoint in enumerate([tiny_checkpoint, tiny_checkpoint, closed_checkpoint]):
                before = answered[0]
                (own_pages / f"new{number}.md").write_text("the engine")
                cdesearch.build(own_pages, model=checkpoint, rebuild=checkpoint == closed_checkpoint).close()
                newest = Index.open(own_pages).generation
                wait_until(lambda newest=newest: server.indexes[None].index.generation == newest)
                wait_until(lambda before=before: answered[0] > before + 10)
        finally:
            stop.set()
        for one in asking:
            one.result()
    assert not failures


def test_a_generation_is_opened_when_the_user_confirms_its_model(served, own_pages, closed_checkpoint, monkeypatch):
    monkeypatch.setattr("cdesearch.search.searcher.CONFIRMING_SECONDS", 0)
    cdesearch.build(own_pages, model=closed_checkpoint, rebuild=True).close()
    newest = Index.open(own_pages)
    request = newest.trust_request
    confirm(newest.folder, TrustRequest())
    assert not served.searcher.refresh()
    assert "which nobody has confirmed" in served.status()[1].cause
    assert not served.searcher.refresh()
    confirm(newest.folder, request)
    assert served.searcher.refresh()
    assert served.status()[1] is None
