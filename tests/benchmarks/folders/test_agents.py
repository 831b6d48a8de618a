import pytest

import cdesearch
from benchmarks.folders.agents import CALL_TOKENS, MAX_CALLS, Read, by_grep, by_search, tasks, until_found
from benchmarks.folders.questions import KINDS, Question
from cdesearch.evaluation.questions import Answer
from cdesearch.serve.indexes import ServedIndexes

QUESTION = Question("where do herons sleep", "where", (Answer("b/herons.html", "on one leg in the reeds"),))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("birds")
    (root / "b").mkdir()
    (root / "b" / "herons.html").write_text(
        "<p>A bird.</p>\n" * 100 + "<p>Herons sleep <b>on one</b> leg in the reeds.</p>"
    )
    (root / "owls.txt").write_text("Owls sleep by day.")
    return root


def test_an_agent_reads_until_it_has_seen_the_answer(folder):
    calls = list(by_grep(folder, QUESTION.text))
    assert calls[0] == ("", "b/herons.html")
    assert sorted(calls[1][1].splitlines()) == ["b/herons.html", "owls.txt"]
    assert calls[2][0] == "b/herons.html" and calls[2][1].startswith("101:")
    read = until_found(QUESTION, iter(calls), len)
    assert read == Read(True, 3, 3 * CALL_TOKENS + sum(len(text) for _, text in calls[:3]))
    assert until_found(QUESTION, iter([("owls.txt", "on one leg in the reeds")] * 50), len).calls == MAX_CALLS


def test_an_agent_that_searches_turns_the_page(folder):
    cdesearch.build(folder).close()
    with ServedIndexes.open([folder]) as indexes:
        read = until_found(QUESTION, by_search(indexes, QUESTION.text, 2_000), len)
    assert (read.is_found, read.calls) == (True, 1)


def test_the_tasks_are_one_of_each_kind():
    assert [task.kind for task in tasks("celery")] == list(KINDS)
