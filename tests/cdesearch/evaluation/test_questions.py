import json

import pytest

from cdesearch.errors import InputError
from cdesearch.evaluation.questions import read_questions
from cdesearch.search.documents import DocumentReader
from cdesearch.store.index import Index

GOOD = {"question": "how do I reset it", "answers": [{"path": "reset.md", "phrase": "the lamp\nblinks  twice"}]}


def test_a_question_is_answered_by_the_passages_with_its_phrase(manual, tmp_path):
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps(GOOD) + "\n\n")
    index = Index.open(manual)
    (question,) = read_questions(file, index)
    assert question.text == "how do I reset it"
    assert question.answers == {chunk.id for chunk in DocumentReader(index).file("reset.md")}


def test_a_text_may_contain_other_ends_of_lines(manual, tmp_path):
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps(GOOD | {"question": "how do\u2028I reset\u0085it"}, ensure_ascii=False))
    (question,) = read_questions(file, Index.open(manual))
    assert question.text == "how do\u2028I reset\u0085it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no questions"),
        ("{", "q.jsonl:1 is not a question"),
        (json.dumps(GOOD) + "\n[]", "q.jsonl:2 is not a question"),
        (json.dumps(GOOD | {"answers": []}), "q.jsonl:1 is not a question"),
        (json.dumps(GOOD | {"answers": [{"path": "reset.md"}]}), "a key is missing: 'phrase'"),
        (json.dumps(GOOD | {"question": '""'}), "q.jsonl:1 is not a question"),
        (json.dumps(GOOD | {"answers": [{"path": "no.md", "phrase": "x"}]}), "q.jsonl:1: no.md is not in the index"),
        (json.dumps(GOOD | {"answers": [{"path": "reset.md", "phrase": "xyz"}]}), "no passage of reset.md contains"),
    ],
)
def test_a_bad_file_is_refused_with_the_line(manual, tmp_path, text, message):
    file = tmp_path / "q.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_questions(file, Index.open(manual))
