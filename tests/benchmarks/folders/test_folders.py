import json

import pytest
from built import write_files

import cdesearch
from benchmarks.folders.answers import ask_folder
from benchmarks.folders.answers import summarised as shares_of
from benchmarks.folders.archives import ARCHIVES
from benchmarks.folders.command import measured_folder, summarised
from benchmarks.folders.questions import MOST_TOKENS, QUESTIONS, Passage, Question, measure_question, read_questions
from cdesearch.errors import SourceError
from cdesearch.evaluation.questions import Answer
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index

QUESTION = Question("q", "why", (Answer("a", "the moon is far"),))


def tokens(text):
    return len(text.split())


def test_a_passage_counts_only_in_its_file_and_white_space_does_not_count():
    found = [Passage("b", "the moon is far"), Passage("a", "cheese"), Passage("a", "the moon\n  is far away")]
    measured = measure_question(QUESTION, found, tokens)
    assert [measured[f"passage@{k}"] for k in (1, 3, 10)] == [0, 100, 100]
    assert measured["MRR@10"] == pytest.approx(100 / 3)
    assert (measured["file@1"], measured["file@3"], measured["tokens"]) == (0, 100, 10)


def test_a_question_without_an_answer_costs_the_most_tokens_even_if_nothing_is_found():
    for found in ([], [Passage("b", "cheese")]):
        assert measure_question(QUESTION, found, tokens)["tokens"] == MOST_TOKENS
    late = [Passage("b", "cheese " * MOST_TOKENS), Passage("a", "the moon is far")]
    assert measure_question(QUESTION, late, tokens)["tokens"] == MOST_TOKENS


def test_a_question_stays_in_its_half_when_others_are_added(tmp_path):
    file = tmp_path / "q.jsonl"
    rows = [{"question": f"{kind} {n}", "kind": kind, "answers": []} for kind in ("why", "where") for n in range(40)]

    def half(name, some):
        file.write_text("\n".join(map(json.dumps, some)))
        return {one.text for one in read_questions(file, name)}

    choose, report = half("choose", rows), half("report", rows)
    assert choose | report == half("all", rows) and not choose & report
    assert 25 < len(choose) < 55
    assert half("choose", rows[7:]) == choose & half("all", rows[7:])


def test_a_question_of_an_unknown_kind_is_refused(tmp_path):
    file = tmp_path / "q.jsonl"
    file.write_text('{"question": "q", "kind": "riddle", "answers": []}')
    with pytest.raises(SourceError, match="not a question"):
        read_questions(file)


def test_the_questions_that_ship_can_be_read():
    for file in QUESTIONS.glob("*.jsonl"):
        assert file.stem in ARCHIVES
        assert all(question.answers for question in read_questions(file))


def test_every_measure_has_an_interval_and_its_difference_from_ours(capsys):
    ours = [(kind, {"MRR@10": 50.0 + n}) for n, kind in enumerate(("why", "where", "why", "why"))]
    other = [(kind, {"MRR@10": reached["MRR@10"] - 10}) for kind, reached in ours]
    first, second = summarised({"cdesearch, hybrid": ours, "other": other})
    assert first.value == pytest.approx(51.5) and first.detail["low"] < 51.5 < first.detail["high"]
    assert first.detail["kinds"] == {"why": pytest.approx(155 / 3), "where": 51}
    against = second.detail["against hybrid"]
    assert against["difference"] == against["low"] == against["high"] == -10
    assert "all (4)" in capsys.readouterr().out


@pytest.fixture
def files(tmp_path):
    """A folder of two files."""
    texts = {"moon.md": "# Moon\nThe moon is a stone.\n", "bread.md": "# Bread\nBake it for an hour.\n"}
    return write_files(tmp_path / "files", texts)


MODES = ("hybrid", "dense", "text")
RIGHT = Question("moon stone", "keywords", (Answer("moon.md", "moon is a stone"),))


@pytest.mark.slow
def test_a_folder_is_measured(files, tmp_path):
    answers = measured_folder(files, tmp_path / "work", [RIGHT])
    assert list(answers) == [*(f"cdesearch, {mode}" for mode in MODES), "all-MiniLM-L6-v2 + BM25"]
    for system, ((_, reached),) in answers.items():
        assert reached["passage@1"] == reached["file@1"] == 100, system


@pytest.mark.slow
def test_answers_are_asked_with_and_without_the_files_that_have_them_and_of_other_folders(files):
    cdesearch.build(files).close()
    question = Question("what is the moon made of?", "why", (Answer("moon.md", "The moon is a stone."),))
    with Searcher(Index.open(files)) as searcher:
        own, removed, foreign = asked = ask_folder(searcher, [question], ["when was the treaty of Utrecht signed?"])
    assert (own.kind, own.is_answered, own.quotes, own.cites) == ("own", True, True, True)
    assert (removed.kind, removed.is_answered, foreign.kind, foreign.is_answered) == (
        "removed",
        False,
        "foreign",
        False,
    )
    assert [one.value for one in shares_of(asked)] == [100] * 5
