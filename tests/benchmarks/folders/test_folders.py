import json

import pytest

from benchmarks.folders.archives import FOLDERS
from benchmarks.folders.command import measured_folder
from benchmarks.folders.measures import measure_question
from benchmarks.folders.questions import QUESTIONS, Answer, Question, read_questions
from cdesearch.errors import InputError, SourceError
from cdesearch.store.schema import Chunk


def chunk(path, text):
    return Chunk(text, path, None, 0, path, "", (), text, 0, 1, 1, None)


def test_a_passage_counts_only_in_its_file_and_white_space_does_not_count():
    question = Question("q", "why", (Answer("a", "the moon is far"),))
    found = [chunk("b", "the moon is far"), chunk("a", "cheese"), chunk("a", "the moon\n  is far away")]
    measured = measure_question(question, found, lambda text: len(text.split()))
    assert [measured[f"passage@{k}"] for k in (1, 3, 10)] == [0, 100, 100]
    assert measured["MRR@10"] == pytest.approx(100 / 3)
    assert (measured["file@1"], measured["file@3"], measured["tokens"]) == (0, 100, 10)


def test_the_halves_divide_the_questions_of_every_kind(tmp_path):
    file = tmp_path / "q.jsonl"
    rows = [{"question": f"{kind} {n}", "kind": kind, "answers": []} for kind in ("why", "where") for n in range(4)]
    file.write_text("\n".join(map(json.dumps, rows)))
    choose, report = ({one.text for one in read_questions(file, half)} for half in ("choose", "report"))
    assert choose == {"why 0", "why 2", "where 0", "where 2"}
    assert choose | report == {one.text for one in read_questions(file)} and not choose & report
    file.write_text('{"question": "q", "kind": "riddle", "answers": []}')
    with pytest.raises(SourceError, match="not a question"):
        read_questions(file)


def test_the_questions_that_ship_can_be_read():
    for file in QUESTIONS.glob("*.jsonl"):
        assert file.stem in FOLDERS
        assert all(question.answers for question in read_questions(file))


def test_an_archive_chooses_files():
    (archive,) = FOLDERS["celery"].archives
    assert archive.target("celery-5.4.0/docs/userguide/tasks.rst") == "userguide/tasks.rst"
    assert archive.target("celery-5.4.0/docs/history/whatsnew-3.0.rst") is None
    assert archive.target("celery-5.4.0/celery/app.py") is None


@pytest.mark.slow
def test_a_folder_is_measured_and_wrong_answers_are_refused(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    (files / "moon.md").write_text("# Moon\nThe moon is a stone.\n")
    (files / "bread.md").write_text("# Bread\nBake it for an hour.\n")
    right = Question("moon stone", "keywords", (Answer("moon.md", "moon is a stone"),))
    figures = {one.name: one.value for one in measured_folder(files, tmp_path / "index", [right])}
    for system in ("cdesearch, hybrid", "cdesearch, text", "AND of words"):
        assert figures[f"{system}: passage@1"] == figures[f"{system}: file@1"] == 100
    (files / "again.md").write_text("# Again\nBake it for an hour.\n")
    for path, phrase, message in (
        ("moon.md", "Bake", "no chunk of moon.md"),
        ("bread.md", "Bake", "again.md contains"),
    ):
        with pytest.raises(InputError, match=message):
            measured_folder(files, tmp_path / "index", [Question("q", "why", (Answer(path, phrase),))])
