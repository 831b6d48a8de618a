import json

import pytest
from command import cdesearch

TOPICS = ("cat", "dog", "moon", "bread", "river", "engine", "stone")


@pytest.fixture(scope="module")
def folder(index_of):
    part = "# How a {0} lives {1}\n\n" + "the water of the {0} has light {1} " * 8
    return index_of({f"{topic}.md": "\n\n".join(part.format(topic, n) for n in "abcd") for topic in TOPICS})


@pytest.fixture
def questions(tmp_path):
    row = {"question": "where does the cat get water", "answers": [{"path": "cat.md", "phrase": "water of the cat"}]}
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    return tmp_path / "q.jsonl"


def test_eval_compares_the_rankings(folder, questions):
    answer = json.loads(cdesearch("eval", "--questions", questions, "--json", cwd=folder).stdout)
    assert answer["questions"] == 1
    rows = answer["rankings"]
    assert list(rows) == ["words (BM25)", "plain vectors", "vectors in context", "both (hybrid)"]
    for row in rows.values():
        assert list(row) == ["hit@1", "hit@3", "MRR@10"]
        assert all(0 <= one["low"] <= one["value"] <= one["high"] <= 100 for one in row.values())


def test_eval_prints_a_table(folder, questions):
    run = cdesearch("eval", "--questions", questions, cwd=folder)
    assert run.stdout.startswith(f"1 question from {questions}.") and "both (hybrid)" in run.stdout
    assert "The intervals of fewer than 20 questions are too narrow" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("eval",), "No questions are named. Write some into a file, and use --questions FILE: {"),
        (("eval", "--questions", "no.jsonl"), "cannot be read"),
    ],
)
def test_invalid_input_is_one_line(folder, arguments, message):
    assert message in cdesearch(*arguments, cwd=folder, code=2).stderr
