"""`query --update` brings a small index up to date, and says how far behind a large one is."""

import pytest

from cdesearch.cli.query import run_query
from cdesearch.cli.query_options import QueryOptions
from cdesearch.search.request import SearchRequest
from cdesearch.store.index import Index
from indexer.live import quick
from indexer.live.quick import update_if_quick


def test_a_quick_update_comes_first(docs, run, capsys):
    run()
    (docs / "new.md").write_text("xylophone")
    run_query(QueryOptions(SearchRequest("xylophone", mode="text"), (docs,), update=True))
    shown = capsys.readouterr()
    assert "new.md" in shown.out and not shown.err


def test_nothing_is_written_if_nothing_has_changed(docs, run):
    run()
    before = Index.open(docs).generation
    assert update_if_quick(Index.open(docs)) is None and Index.open(docs).generation == before


@pytest.mark.parametrize("cause", ["text", "chunks"])
def test_a_longer_update_is_left_out_with_a_line(docs, run, monkeypatch, cause):
    run()
    (docs / "00.md").unlink()
    (docs / "01.md").write_text("the dog")
    (docs / "new.md").write_text("the water " * (10_000 if cause == "text" else 1))
    if cause == "chunks":
        monkeypatch.setattr(quick, "SECONDS_PER_CHUNK", 1.0)
    line = update_if_quick(Index.open(docs))
    assert line.startswith("The index is behind by 1 new, 1 modified and 1 deleted files: run `cdesearch index")
    assert Index.open(docs).manifest.n_documents == 12
