from conftest import make_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.search.passages import OMISSION, fit_passages, tokens_of
from cdesearch.store.schema import Chunk, Hit

TOKENIZER = make_tokenizer()
WORDS = ("the", "cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light")


def hit(rank, body, *, ordinal=0, path="a.md", line=None, page=None, title="", trail=(), header=""):
    """Return a hit whose chunk starts at `line`. Only the text for the model contains `header`."""
    chunk = Chunk(
        id=f"{path} {ordinal}",
        document_id=path,
        record=None,
        ordinal=ordinal,
        path=path,
        title=title,
        trail=trail,
        text=header + body,
        body_start=len(header),
        line_start=line,
        line_end=None if line is None else line + body.count("\n"),
        page=page,
    )
    return Hit(rank=rank, score=10.0 - rank, chunk=chunk, dense_score=None, text_score=None)


def fitted(*hits, tokens=500):
    return fit_passages(hits, tokens, TOKENIZER)


def test_chunks_that_follow_each_other_become_one_passage():
    first = hit(2, "the cat\nand the dog", ordinal=3, line=10, title="Pets", trail=("Home",), header="Pets\n")
    far = hit(3, "moon", ordinal=6, line=15)
    middle = hit(1, "water in the river", ordinal=4, line=13, title="Pets", trail=("Other",))
    last = hit(4, "stone", ordinal=5, line=13)
    joined, *others = fitted(middle, first, far, last)
    assert joined.text == "the cat\nand the dog\n\nwater in the river stone\n\nmoon" and not others
    assert (joined.line_start, joined.line_end, joined.score) == (10, 15, 9.0)
    assert (joined.title, joined.trail, joined.location) == ("Pets", ("Home",), "a.md:10")
    assert joined.heading == "a.md:10 Pets > Home"
    assert joined.chunk_ids == ("a.md 3", "a.md 4", "a.md 5", "a.md 6")


def test_chunks_that_are_not_neighbours_stay_separate_in_the_order_of_scores():
    found = fitted(hit(1, "water", ordinal=4), hit(2, "moon", ordinal=5, path="b.md"), hit(3, "stone", ordinal=6))
    assert [passage.text for passage in found] == ["water", "moon", "stone"]


def test_chunks_are_not_joined_over_many_blank_lines():
    apart = fitted(hit(1, "water", ordinal=1, line=1), hit(2, "moon", ordinal=2, line=9_000_000))
    assert [(passage.text, passage.line_end) for passage in apart] == [("water", 1), ("moon", 9_000_000)]


def test_lines_of_a_joined_passage_are_those_of_the_file():
    first, second = hit(1, "the cat\nand", ordinal=0, line=3), hit(2, "bread\nwater", ordinal=1, line=8)
    (joined,) = fitted(second, first)
    lines = joined.text.split("\n")
    assert {lines[number - 3]: number for number in (3, 4, 8, 9)} == {"the cat": 3, "and": 4, "bread": 8, "water": 9}
    assert len(lines) == joined.line_end - joined.line_start + 1


def test_repeated_text_is_left_out():
    once = "the cat and the dog went to the river and drank water under the light moon"
    again = hit(2, once.upper().replace(" ", "\n"), path="b.md")
    part = hit(3, once[:60], path="c.md")
    other = hit(4, "bread and engine and stone and light of the moon", path="d.md")
    assert [passage.path for passage in fitted(hit(1, once), again, part, other)] == ["a.md", "d.md"]


def test_the_last_passage_is_cut_after_a_sentence():
    body = "The cat sat.\nThe dog ran. " + "The water of the river is light. " * 20
    (passage,) = fitted(hit(1, body, line=7), tokens=24)
    assert passage.text == "The cat sat.\nThe dog ran." + OMISSION
    assert (passage.line_start, passage.line_end) == (7, 8)


def test_a_first_sentence_that_is_too_long_is_cut_after_a_word():
    first, *others = fitted(hit(1, "the water of the river " * 50), hit(2, "moon", path="b.md"), tokens=20)
    assert first.text.endswith(OMISSION) and set(first.text.split()) <= {"the", "water", "of", "river", "…"}
    assert not others and len(first.text) > 20


bodies = st.lists(st.sampled_from([*WORDS, "The", "end.", "\n", "\n\n", "- ", "xyzzy", "(", "…", "ß"]), min_size=1)
places = st.tuples(st.sampled_from(["a.md", "b/c.md"]), st.integers(0, 6), bodies)


@given(st.lists(places, max_size=12, unique_by=lambda place: place[:2]), st.integers(0, 120))
def test_passages_stay_within_the_budget_and_contain_only_text_of_the_hits(chosen, budget):
    hits = [
        hit(rank, " ".join(words).strip() or "moon", ordinal=ordinal, path=path, line=1 + 2 * ordinal, title="A cat")
        for rank, (path, ordinal, words) in enumerate(chosen, 1)
    ]
    found = fit_passages(hits, budget, TOKENIZER)
    assert sum(tokens_of(passage, TOKENIZER) for passage in found) <= budget
    assert [passage.score for passage in found] == sorted((passage.score for passage in found), reverse=True)
    known = {one.chunk.id: one.chunk for one in hits}
    for passage in found:
        chunks = [known[name] for name in passage.chunk_ids]
        assert [chunk.ordinal for chunk in chunks] == list(range(chunks[0].ordinal, chunks[0].ordinal + len(chunks)))
        whole = " ".join(chunk.body for chunk in chunks)
        assert passage.text.split() == whole.split() or passage.text.endswith(OMISSION)
        assert passage.line_start == chunks[0].line_start and passage.line_end <= chunks[-1].line_end
    if hits and found:
        assert hits[0].chunk.id in found[0].chunk_ids
