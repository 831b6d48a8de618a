"""Hits that repeat the text of a better hit of another file are its copies."""

import cdesearch
from cdesearch.search.result import fold_copies
from cdesearch.store.schema import Chunk, Hit

LONG = "The owl hoots at night while the fox sleeps under the old oak near the river bank. "


def hit(rank, path, text, document=None):
    chunk = Chunk(f"{rank}", document or path, None, 0, path, "", (), text, 0, 1, 1, None)
    return Hit(rank, 10 - rank, chunk, None, None)


def folded(*hits, k=10):
    return [(one.rank, one.chunk.id, [copy.chunk.path for copy in one.copies]) for one in fold_copies(hits, k)]


def test_a_text_in_other_files_is_a_copy_even_if_a_word_differs():
    hits = hit(1, "a", LONG * 3), hit(2, "b", LONG * 3), hit(3, "c", "Other words."), hit(4, "d", LONG * 3 + "End.")
    assert folded(*hits) == [(1, "1", ["b", "d"]), (2, "3", [])]


def test_another_passage_of_a_copy_is_a_hit_of_its_own():
    assert folded(hit(1, "a", LONG), hit(2, "b", LONG), hit(3, "b", "A whale sings.")) == [
        (1, "1", ["b"]),
        (2, "3", []),
    ]


def test_records_and_passages_of_one_file_are_never_copies():
    hits = hit(1, "bank.csv", LONG, "bank.csv#1"), hit(2, "bank.csv", LONG, "bank.csv#2")
    assert folded(*hits) == [(1, "1", []), (2, "2", [])]


def test_no_more_hits_are_read_than_needed():
    read = iter([hit(1, "a", "one"), hit(2, "b", "one"), hit(3, "c", "two"), hit(4, "d", "three")])
    assert [one.chunk.path for one in fold_copies(read, 2)] == ["a", "c"]
    assert next(read).chunk.path == "d"


def test_copies_take_no_place_among_the_hits_of_any_mode(tmp_path, tiny_checkpoint):
    for number in range(12):
        (tmp_path / f"copy {number}.md").write_text(f"# Plan\n\n{LONG}")
    (tmp_path / "other.md").write_text("The river is cold, the owl said.")
    with cdesearch.build(tmp_path, model=tiny_checkpoint) as index:
        for mode in ("hybrid", "dense", "text"):
            hits = index.search("owl near the river", k=3, mode=mode)
            assert [hit.rank for hit in hits] == [1, 2], mode
            assert {hit.chunk.path for hit in hits} == {hits[0].chunk.path, hits[1].chunk.path} and "other.md" in {
                hit.chunk.path for hit in hits
            }
