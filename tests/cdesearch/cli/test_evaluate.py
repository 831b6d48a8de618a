import json

import pytest
from command import cdesearch

TOPICS = ("cat", "dog", "moon", "bread", "river", "engine", "stone")


@pytest.fixture(scope="module")
def folder(index_of):
    part = "# How a {0} lives {1}\n\n" + "the water of the {0} has light {1} " * 8
    return index_of({f"{topic}.md": "\n\n".join(part.format(topic, n) for n in "abcd") for topic in TOPICS})


def test_eval_compares_the_rankings_on_questions_of_the_index(folder):
    answer = json.loads(cdesearch("eval", "--auto", "6", "--json", cwd=folder).stdout)
    assert answer["questions"] == 6 and "made from the index" in answer["about"]
    rows = answer["rankings"]
    assert list(rows) == ["words (BM25)", "plain vectors", "vectors in context", "both (hybrid)"]
    for row in rows.values():
        assert list(row) == ["hit@1", "hit@3", "MRR@10"]
        assert all(0 <= one["low"] <= one["value"] <= one["high"] <= 100 for one in row.values())
    assert any("cannot show" in note for note in answer["notes"])


def test_eval_uses_real_questions_and_prints_a_table(folder, tmp_path):
    file = tmp_path / "q.jsonl"
    row = {"question": "where does the cat get water", "answers": [{"path": "cat.md", "phrase": "water of the cat"}]}
    file.write_text(json.dumps(row))
    run = cdesearch("eval", "--questions", file, cwd=folder)
    assert run.stdout.startswith(f"1 question from {file}.") and "both (hybrid)" in run.stdout
    assert "The intervals of fewer than 20 questions are too narrow" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("eval", "--auto", "5", "--questions", "no.jsonl"), "Several kinds of questions"),
        (("eval", "--questions", "no.jsonl"), "cannot be read"),
    ],
)
def test_invalid_input_is_one_line(folder, arguments, message):
    assert message in cdesearch(*arguments, cwd=folder, code=2).stderr
