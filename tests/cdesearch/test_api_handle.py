"""A handle of an open index: it notices every update, searches asynchronously, and reports its end."""

import asyncio
import builtins
import dataclasses
import inspect
import shutil
import threading
import time
import warnings

import pytest
from typer.main import get_command_from_info
from typer.models import CommandInfo

import cdesearch
from cdesearch.errors import IndexMismatchError, IndexNotFoundError, InputError, QueryError, SourceError
from indexer.command import index as index_command

QUERIES = ["the cat", "water in the river", "bread", "a", "moon " * 100, "stone light engine"]


@pytest.fixture(scope="module")
def built(tmp_path_factory, tiny_checkpoint):
    folder = tmp_path_factory.mktemp("docs")
    for number in range(12):
        (folder / f"{number:02}.md").write_text(f"# Page {number}\n\nthe cat {number} in the water and the moon\n")
    cdesearch.build(folder, model=tiny_checkpoint).close()
    return folder


@pytest.fixture(scope="module")
def reading(built, tiny_checkpoint):
    """A handle for tests that change nothing."""
    with cdesearch.open(built, model=tiny_checkpoint) as index:
        yield index


@pytest.fixture
def docs(built, tmp_path):
    """A copy of the folder and its index, to change."""
    return shutil.copytree(built, tmp_path / "docs")


@pytest.fixture
def opened(docs, tiny_checkpoint):
    with cdesearch.open(docs, model=tiny_checkpoint) as index:
        yield index


def paths(result):
    return [hit.chunk.path for hit in result]


def test_every_option_of_the_command_is_a_keyword_of_build():
    command = get_command_from_info(
        CommandInfo("index", callback=index_command), pretty_exceptions_short=False, rich_markup_mode=None
    )
    options = {
        option.opts[0].removeprefix("--").replace("-", "_")
        for option in command.params
        if option.param_type_name == "option"
    }
    keywords = set(inspect.signature(cdesearch.build).parameters) - {"paths"}
    assert keywords == options - {"json", "help"}


def test_the_report_of_a_build_tells_what_was_done(docs, tiny_checkpoint):
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (docs / "empty.txt").write_text("")
    report = cdesearch.build(docs, model=tiny_checkpoint, rebuild=True).report
    assert (report.documents, report.documents_without_text, report.chunks, report.embedded) == (13, 1, 12, 12)
    assert report.changed and report.indexed_files == 13 and report.seconds > 0 and report.size_bytes > 0
    assert [file.path for file in report.skipped] == ["broken.pdf"] and report.skipped[0].reason
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.documents = 3
    with pytest.raises(SourceError, match=r"1 of the files were not read completely, such as broken\.pdf"):
        cdesearch.build(docs, model=tiny_checkpoint, strict=True)
    assert cdesearch.open(docs, model=tiny_checkpoint).report is None


def test_a_build_takes_lists_of_globs(docs, tiny_checkpoint):
    report = cdesearch.build(docs, model=tiny_checkpoint, include=["0*.md"], exclude=["05.md"]).report
    assert report.indexed_files == 9
    with pytest.raises(InputError, match="include must be a list of globs"):
        cdesearch.build(docs, model=tiny_checkpoint, include="*.md")


@pytest.mark.slow
def test_a_handle_notices_each_of_many_fast_updates_at_its_next_call(opened, docs, tiny_checkpoint):
    other = cdesearch.open(docs, model=tiny_checkpoint)
    animals = ("quokka", "zebra", "heron", "otter", "lemur")
    for number in range(4):
        (docs / "new.md").write_text(animals[number])
        with cdesearch.open(docs, model=tiny_checkpoint) as writer:
            assert writer.update().changed
        for handle in (opened, other):
            assert paths(handle.search(animals[number], mode="text")) == ["new.md"]
            assert not handle.search(animals[number + 1], mode="text")
    other.close()


def test_a_handle_of_an_index_that_was_removed_or_built_by_another_model_says_so(opened, docs, closed_checkpoint):
    cdesearch.build(docs, model=closed_checkpoint, rebuild=True).close()
    with pytest.raises(IndexMismatchError):
        opened.search("cat")
    (docs / ".cdesearch").rename(docs / "moved")
    with pytest.raises(IndexNotFoundError):
        opened.search("cat")


@pytest.mark.parametrize("mode", ["hybrid", "dense", "text"])
@pytest.mark.parametrize("path", [None, "0*.md", "nowhere"])
def test_many_queries_have_the_results_of_single_ones(reading, mode, path, monkeypatch):
    monkeypatch.setattr("cdesearch.search.searcher.MANY", 4)  # fewer than the queries
    found = reading.search_many(QUERIES, k=4, mode=mode, path=path)
    for result, query in zip(found, QUERIES, strict=True):
        alone = reading.search(query, k=4, mode=mode, path=path)
        assert (result.truncated_to, paths(result)) == (alone.truncated_to, paths(alone))
        for hit, expected in zip(result, alone, strict=True):
            scores, expected_scores = ((one.score, one.dense_score, one.text_score) for one in (hit, expected))
            assert scores == pytest.approx(expected_scores, abs=1e-6) and hit.chunk == expected.chunk
    assert reading.search_many([]) == []


def test_a_model_of_integers_has_exactly_the_same_results_for_many_queries(tmp_path):
    for number, text in enumerate(("A cat purrs.", "The dough rises in the oven.", "A rocket burns fuel.") * 4):
        (tmp_path / f"{number}.md").write_text(f"{text} {number}")
    with cdesearch.build(tmp_path) as index:
        assert index._searcher.encoder.precision == "int8"
        queries = ["purring animals", "how to bake", "space flight", "a", "what burns in a rocket engine?"]
        assert index.search_many(queries) == list(map(index.search, queries))


def test_a_text_instead_of_queries_is_refused(reading):
    with pytest.raises(QueryError, match="a list of texts"):
        reading.search_many("cat")
    with pytest.raises(QueryError, match="query must be a text, not int"):
        reading.search_many(["cat", 3])


def test_asynchronous_searches_do_not_block_the_event_loop(reading, monkeypatch):
    search = reading._searcher.search_many

    def slowly(*arguments):
        time.sleep(0.3)
        return search(*arguments)

    monkeypatch.setattr(reading._searcher, "search_many", slowly)

    async def run():
        started = time.perf_counter()
        later = [asyncio.create_task(reading.asearch("cat", k=3)) for _ in range(4)]
        ticks = 0
        while not all(task.done() for task in later):
            await asyncio.sleep(0.01)
            ticks += 1
        return [task.result() for task in later], ticks, time.perf_counter() - started

    results, ticks, seconds = asyncio.run(run())
    assert ticks > 5 and seconds < 4 * 0.3 and len({tuple(hit.chunk.id for hit in result) for result in results}) == 1


def test_a_closed_handle_says_that_it_is_closed(docs, tiny_checkpoint):
    before = set(threading.enumerate())
    with cdesearch.build(docs, model=tiny_checkpoint) as opened:
        asyncio.run(opened.asearch("cat"))
    assert not [one for one in set(threading.enumerate()) - before if one.name.startswith("cdesearch")]
    opened.close()  # a second time
    calls = (
        lambda: opened.search("cat"),
        lambda: opened.search_many(["cat"]),
        lambda: asyncio.run(opened.asearch("cat")),
        opened.update,
        opened.reload,
    )
    for call in calls:
        with pytest.raises(QueryError, match=r"has been closed\. Open it again\."):
            call()


def test_a_stale_index_is_updated_before_a_search_if_that_is_quick(opened, docs, tiny_checkpoint):
    with cdesearch.open(docs, model=tiny_checkpoint, update_if_stale=True) as index:
        (docs / "new.md").write_text("quokka")
        assert paths(index.search("quokka", mode="text")) == ["new.md"]
        (docs / "new.md").unlink()
        assert not index.search_many(["quokka"], mode="text")[0]
        (docs / "new.md").write_text("quokka " * 100_000)
        with pytest.warns(
            UserWarning, match="This answer lacks 1 new, 0 modified and 0 deleted files: run `cdesearch index"
        ):
            assert not index.search("quokka", mode="text")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not opened.search("quokka", mode="text"), "a handle without the setting writes nothing"


def test_importing_everything_keeps_the_function_open():
    names = {}
    exec("from cdesearch import *", names)
    assert "open" not in names and names["build"] is cdesearch.build and names["__builtins__"]["open"] is builtins.open
    assert all(getattr(cdesearch, name) is names[name] for name in cdesearch.__all__)
