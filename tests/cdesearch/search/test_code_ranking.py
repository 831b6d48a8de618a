import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.search.code_ranking import code_lifts


def ranked(query, *found):
    """The places of chunks, given as pairs of a score and a path, in the order of their lifted scores."""
    scores, paths = np.array([score for score, _ in found], float), [path for _, path in found]
    return np.argsort(-(scores + code_lifts(query, scores, paths)), kind="stable").tolist()


@pytest.mark.parametrize(
    ("query", "found", "expected"),
    [
        ("retry a request", [(3.0, "a.py"), (2.0, "a.py"), (2.5, "b.py"), (2.5, "b.py")], [0, 2, 3, 1]),
        ("retry a request", [(3, "a.py"), (2.9, "a.py"), (2.8, "a.py"), (2.7, "b.py"), (0, "c.py")], [0, 1, 3, 2, 4]),
        ("retry a request", [(3.0, "a.md"), (2.9, "a.md"), (2.5, "b.md"), (0, "c.md")], [0, 1, 2, 3]),  # but not texts
        ("retry a request", [(3.0, "tests/a.py"), (2.5, "b.py"), (0, "c.py")], [1, 0, 2]),
        (
            "retry a request",
            [(3.0, "ATest.java"), (2.8, "TidyIT.java"), (2.5, "Latest.java"), (0, "c.py")],
            [2, 0, 1, 3],
        ),
        ("retry a request", [(3.0, "mocks/a.ts"), (2.9, "a.cy.ts"), (2.8, "shortest.ts"), (0, "c.ts")], [2, 0, 1, 3]),
        ("test a retry", [(3.0, "tests/a.py"), (2.5, "b.py"), (0, "c.py")], [0, 1, 2]),
        ("test_retry", [(3.0, "tests/a.py"), (2.5, "b.py"), (0, "c.py")], [0, 1, 2]),
        ("FakeRetry", [(3.0, "tests/a.py"), (2.5, "b.py"), (0, "c.py")], [0, 1, 2]),  # it is defined there
        ("FakeRetry", [(2.5, "tests/a.py"), (3.0, "b.py"), (2, "c.py"), (0, "d.py")], [1, 2, 0, 3]),
        ("retry a request", [(3.0, "one.py"), (2.8, "retry.py"), (0, "c.py")], [1, 0, 2]),
        ("retry a request", [(3.0, "one.py"), (2.9, "retry/b.py"), (0, "c.py")], [1, 0, 2]),
        ("retry", [(3.0, "one.py"), (2.8, "retry.py"), (0, "c.py")], [0, 1, 2]),  # a name: words have decided
        ("send mail now", [(3, "a.py"), (2.8, "b.py"), (2.7, "b.py"), (2.7, "b.py"), (0, "c.py")], [1, 0, 2, 3, 4]),
        ("set it up", [(3, "a.md"), (2.9, "p/b.py"), (2.8, "p/set.py"), (2.7, "c.md"), (0, "d.md")], [0, 2, 3, 1, 4]),
        (
            "set it up",
            [(3, "p/a.md"), (2.9, "p/b.py"), (2.8, "p/set.py"), (2.7, "c.md"), (0, "d.md")],
            [2, 1, 0, 3, 4],
        ),
        (
            "set it up",
            [(3, "a.md"), (2.9, "p/b.py"), (2.8, "p/set.py"), (2.7, "p/c.py"), (0, "d.py")],
            [2, 1, 3, 0, 4],
        ),
        ("set it up", [(2.9, "a.md"), (3, "b.py"), (2.8, "set.py"), (2.7, "c.md"), (0, "d.md")], [2, 1, 0, 3, 4]),
        ("set it up", [(3, "a.md"), (2.9, "b.md"), (2.8, "c.md"), (2.7, "a.py"), (0, "d.md")], [0, 1, 2, 3, 4]),
    ],
)
def test_code_is_ranked_by_its_files(query, found, expected):
    assert ranked(query, *found) == expected


def test_words_alone_rank_tests_last_and_explain_it(searcher_of, tiny_checkpoint):
    texts = {"a.py": "# retry the upload\nimport time\n", "tests/test_a.py": "# retry the upload: retry, retry\n"}
    searcher = searcher_of(texts | {"b.py": "# upload\n" + "import sys\n" * 20}, tiny_checkpoint)
    found = searcher.search("retry upload", mode="text")
    second = searcher.explain(found[1].chunk.id, "retry upload", mode="text")
    assert [hit.chunk.path for hit in found][:2] == ["a.py", "tests/test_a.py"]
    assert found[0].text_score < found[1].text_score
    assert second.score == pytest.approx(found[1].score) and second.code != 0


paths = st.sampled_from(["a.py", "tests/a.py", "b.go", "notes.md", "b/c.txt"])


@given(st.lists(st.tuples(st.floats(-5, 5), paths), max_size=30), st.sampled_from(["open file", "openFile", "test"]))
def test_texts_keep_their_scores_and_lifts_are_finite(found, query):
    scores = np.array([score for score, _ in found], float)
    lifts = code_lifts(query, scores, [path for _, path in found])
    assert np.isfinite(lifts).all()
    assert not lifts[[path.endswith((".md", ".txt")) for _, path in found]].any()
