"""Small changes of files are taken into an index before a query, others in the background, and a line says so."""

import pytest
from running_server import wait_until

from cdesearch.cli.query import run_query
from cdesearch.cli.query_options import QueryOptions
from cdesearch.search.request import SearchRequest
from cdesearch.store.changes import may_be_behind
from cdesearch.store.index import Index
from cdesearch.store.manifest import Manifest
from indexer.generations.lock import is_locked, locked
from indexer.live import quick
from indexer.live.quick import update_if_quick


@pytest.mark.parametrize("update", [True, False])
def test_a_quick_update_comes_first_unless_the_user_forbids_it(docs, run, capsys, update):
    run()
    (docs / "new.md").write_text("xylophone")
    code = run_query(QueryOptions(SearchRequest("xylophone", mode="text"), (docs,), update=update))
    shown = capsys.readouterr()
    assert ("new.md" in shown.out, code, bool(shown.err)) == ((True, 0, False) if update else (False, 1, True))


def test_nothing_is_written_if_nothing_has_changed_and_times_are_recorded(docs, run):
    run()
    before = Index.open(docs).generation
    assert update_if_quick(Index.open(docs)) is None and Index.open(docs).generation == before
    (docs / "00.md").touch()
    assert may_be_behind(Index.open(docs)) and update_if_quick(Index.open(docs)) is None
    assert not may_be_behind(Index.open(docs)), "the new time is in the account, and is not checked again"


def changed(docs, run, monkeypatch, cause):
    run()
    (docs / "00.md").unlink()
    (docs / "01.md").write_text("the dog")
    (docs / "new.md").write_text("the water " * (10_000 if cause == "text" else 1))
    if cause == "chunks":
        monkeypatch.setattr(quick, "SECONDS_PER_CHUNK", 1.0)
    return "This answer lacks 1 new, 1 modified and 1 deleted files: "


@pytest.mark.parametrize("cause", ["text", "chunks"])
def test_a_longer_update_is_left_out_with_its_command(docs, run, monkeypatch, cause):
    lacks = changed(docs, run, monkeypatch, cause)
    line = update_if_quick(Index.open(docs), in_background=False)
    assert line == f"{lacks}run `cdesearch index --index {docs / '.cdesearch'}`."
    assert Index.open(docs).manifest.n_documents == 12


@pytest.mark.slow
def test_a_longer_update_goes_on_in_the_background_and_only_once(docs, run, monkeypatch):
    lacks = changed(docs, run, monkeypatch, "text")
    assert update_if_quick(Index.open(docs)) == f"{lacks}they are being indexed in the background."
    wait_until(lambda: is_locked(docs / ".cdesearch") or Index.open(docs).manifest.n_documents == 12)
    wait_until(lambda: not may_be_behind(Index.open(docs)) and not is_locked(docs / ".cdesearch"), 60)
    assert Index.open(docs).manifest.n_chunks > 100
    (docs / "more.md").write_text("the water " * 10_000)
    for cause in ("text", "short"):
        with locked(docs / ".cdesearch", wait=False):
            assert update_if_quick(Index.open(docs)).endswith("another run is indexing them.")
        (docs / "more.md").write_text(cause)


def test_an_update_that_fails_is_said_and_the_index_answers(docs, run, monkeypatch, capsys):
    run()
    (docs / "new.md").write_text("xylophone")
    monkeypatch.setattr(
        Index, "model_to_open", property(lambda _: (_ for _ in ()).throw(quick.CdesearchError("No.", "!")))
    )
    assert run_query(QueryOptions(SearchRequest("cat", mode="text"), (docs,))) == 0
    assert (
        "This answer lacks 1 new, 0 modified and 0 deleted files: the index cannot be updated: No. !"
        in capsys.readouterr().err
    )


def test_a_context_that_no_longer_fits_is_renewed_in_the_background(docs, run, monkeypatch):
    run()
    started = []
    monkeypatch.setattr(quick, "staleness", lambda _: "It has grown.")
    monkeypatch.setattr(Manifest, "embeds_on_refresh", False)
    monkeypatch.setattr(quick, "_started", started.append)
    (docs / "new.md").write_text("xylophone")
    assert update_if_quick(Index.open(docs)) is None and [one.place for one in started] == [docs / ".cdesearch"]
