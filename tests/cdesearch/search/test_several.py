"""Several indexes that are searched as one."""

import shutil
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from built import WORDS, write_files

import cdesearch
from cdesearch.errors import IndexStateError, QueryError
from cdesearch.search.confidence import BY_COSINE
from cdesearch.search.searcher import Searcher
from cdesearch.search.together import Together
from cdesearch.store.index import Index, open_each

MODES = ("hybrid", "dense", "text")
QUERIES = ("the cat", "water in the river", "stone light engine", '"the moon" bread', "nothing")


def write(folder, numbers):
    folder.mkdir(parents=True)
    for number in numbers:
        words = " ".join(WORDS[(number * step) % len(WORDS)] for step in range(1, 5))
        (folder / f"{number:02}.md").write_text(f"# Page {number}\n\nthe {words} {number} in the moon\n")
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory, tiny_checkpoint):
    """An index of all pages."""
    folder = write(tmp_path_factory.mktemp("whole") / "docs", range(40))
    cdesearch.build(folder, model=tiny_checkpoint).close()
    return folder


@pytest.fixture(scope="module")
def shards(whole, tmp_path_factory, tiny_checkpoint):
    """Two indexes in the context of the whole one, each of half of the pages."""
    folders = []
    for half in range(2):
        folder = shutil.copytree(whole, tmp_path_factory.mktemp("shard") / f"half{half}")
        for page in sorted(folder.glob("*.md"))[half::2]:
            page.unlink()
        with cdesearch.open(folder, model=tiny_checkpoint) as opened:
            opened.update()
        folders.append(folder)
    return folders


@pytest.fixture(scope="module")
def other(tmp_path_factory, tiny_checkpoint):
    """An index with a context of its own, of which some texts are also in the whole one."""
    folder = write(tmp_path_factory.mktemp("other") / "docs", range(30, 50))
    cdesearch.build(folder, model=tiny_checkpoint).close()
    return folder


def search(folders, model, *arguments, **options):
    with cdesearch.open(folders, model=model) as opened:
        return opened.search(*arguments, **options)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", QUERIES)
def test_one_index_has_the_hits_that_it_has_alone(whole, tiny_checkpoint, mode, query):
    with cdesearch.open(whole, model=tiny_checkpoint) as alone:
        expected = alone.search(query, mode=mode)
    found = search([whole], tiny_checkpoint, query, mode=mode)
    assert tuple(replace(hit, index=None) for hit in found) == expected.hits
    assert all(hit.index == "docs" for hit in found)


def test_hits_are_ranked_by_one_score_and_confidences_by_the_common_rank(whole, other, tiny_checkpoint):
    found = search([whole, other], tiny_checkpoint, "water in the river", k=30)
    scores = [hit.score for hit in found]
    odds = [np.log(hit.confidence / (1 - hit.confidence)) - BY_COSINE.rank * np.log(hit.rank) for hit in found]
    assert all(one <= own + 1e-6 for one, own in zip(scores, odds, strict=True))  # hits of one index keep their order
    assert scores == sorted(scores, reverse=True) and {hit.index for hit in found} == {"docs", "docs-2"}
    assert [hit.rank for hit in found] == list(range(1, 31))
    assert len({(hit.chunk.text) for hit in found}) == 30


def test_the_same_text_in_two_indexes_is_one_hit_that_names_both_places(whole, other, tiny_checkpoint):
    found = search([whole, other], tiny_checkpoint, "the cat", k=100)
    texts = Counter(hit.chunk.text for hit in found)
    assert len(found) == 50 and set(texts.values()) == {1}
    copied = [hit for hit in found if hit.copies]
    assert {hit.chunk.path for hit in copied} == {f"{number}.md" for number in range(30, 40)}
    for hit in copied:
        (copy,) = hit.copies
        assert copy.chunk.text == hit.chunk.text and {hit.index, copy.index} == {"docs", "docs-2"}


def test_the_same_text_twice_in_two_indexes_is_one_hit(tmp_path, tiny_checkpoint):
    folder = tmp_path / "twice"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("bread and stone")
    cdesearch.build(folder, model=tiny_checkpoint).close()
    copy = shutil.copytree(folder, tmp_path / "copy")
    (hit,) = search([folder, copy], tiny_checkpoint, "bread")
    places = {(one.index, one.chunk.path) for one in (hit, *hit.copies)}
    assert places == {(index, path) for index in ("twice", "copy") for path in ("a.txt", "b.txt")}


def test_a_quoted_phrase_of_one_index_leaves_out_the_others(tmp_path, whole, tiny_checkpoint):
    folder = write_files(tmp_path / "phrase", {"a.txt": "the bread of heaven is light"})
    cdesearch.build(folder, model=tiny_checkpoint).close()
    for mode in ("hybrid", "text"):
        found = search([whole, folder], tiny_checkpoint, '"bread of heaven"', mode=mode)
        assert [hit.chunk.path for hit in found] == ["a.txt"]


def test_an_index_that_cannot_be_read_is_an_error_that_names_it(whole, other, tmp_path, tiny_checkpoint):
    damaged = shutil.copytree(other, tmp_path / "damaged")
    with cdesearch.open([whole, damaged], model=tiny_checkpoint) as opened:
        shutil.rmtree(opened.indexes["damaged"].generation / "tables")
        with pytest.raises(IndexStateError, match="This is the index damaged; the others can be searched without it"):
            opened.search("the cat")
    with pytest.raises(IndexStateError, match="missing"):
        cdesearch.open([whole, tmp_path / "missing"])


def test_an_empty_index_and_one_of_a_single_text_take_part(whole, tmp_path, tiny_checkpoint):
    small = write(tmp_path / "small", [90])
    cdesearch.build(small, model=tiny_checkpoint).close()
    empty = write(tmp_path / "empty", [91])
    with cdesearch.build(empty, model=tiny_checkpoint) as opened:
        (empty / "91.md").unlink()
        opened.update()
    for mode in MODES:
        found = search([small, whole, empty], tiny_checkpoint, "page 90", mode=mode)
        assert found and (found[0].index == "small" or mode != "text")  # a random model's cosines mean nothing
    assert not search([empty, empty], tiny_checkpoint, "page 90")


def test_a_filter_holds_in_each_index_and_an_update_is_noticed(shards, tmp_path, tiny_checkpoint):
    own = [shutil.copytree(folder, tmp_path / folder.name) for folder in shards]
    with cdesearch.open(own, model=tiny_checkpoint) as opened:
        assert {hit.chunk.path for hit in opened.search("the cat", k=40, path="0*.md")} == {
            f"{number:02}.md" for number in range(10)
        }
        (own[0] / "new.txt").write_text("the dog barks at the stone")
        cdesearch.build(own[0], model=tiny_checkpoint).close()
        assert opened.search("dog barks", mode="text")[0].chunk.path == "new.txt"
        assert [len(result) for result in opened.search_many(["the cat", "moon"], k=3)] == [3, 3]
    with pytest.raises(QueryError, match="closed"):
        opened.search("the cat")


def test_names_are_unique_and_an_index_is_opened_once(whole, other):
    assert list(open_each([whole, other, whole / ".cdesearch"])) == ["docs", "docs-2"]


def test_indexes_of_different_models_are_searched_together(whole, tmp_path, tiny_checkpoint, closed_checkpoint):
    folder = write(tmp_path / "closed", range(40, 80))
    cdesearch.build(folder, model=closed_checkpoint).close()
    one = Searcher(Index.open(whole), model=tiny_checkpoint)
    with closing(Together({"one": one, "two": Searcher(Index.open(folder), model=closed_checkpoint)})) as together:
        for mode in MODES:
            found = together.search("the cat", k=80, mode=mode)
            assert {hit.index for hit in found} == {"one", "two"}
