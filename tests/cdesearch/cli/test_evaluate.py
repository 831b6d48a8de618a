import json
from io import StringIO

import pytest
from command import cdesearch

from cdesearch.search.fusion import TEXT_WEIGHT
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.text_weight import read_text_weight, write_text_weight

TOPICS = ("cat", "dog", "moon", "bread", "river", "engine", "stone")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    for topic in TOPICS:
        parts = (f"# How a {topic} lives {n}\n\n" + f"the water of the {topic} has light {n} " * 8 for n in "abcd")
        (folder / f"{topic}.md").write_text("\n\n".join(parts))
    cdesearch("index", ".", cwd=folder)
    return folder


def test_eval_compares_the_rankings_on_questions_of_the_index(folder):
    answer = json.loads(cdesearch("eval", "--auto", "6", "--rerank", "--json", cwd=folder).stdout)
    assert answer["questions"] == 6 and "made from the index" in answer["about"]
    rows = answer["rankings"]
    assert list(rows) == ["words (BM25)", "plain vectors", "vectors in context", "both (hybrid)", "reranked"]
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
        (("eval", "--labels"), "cdesearch label"),
        (("eval", "--auto", "5", "--labels"), "Several kinds of questions"),
        (("eval", "--questions", "no.jsonl"), "cannot be read"),
        (("tune", "--auto", "5"), "20 questions are needed"),
        (("tune", "--reset", "--auto", "5"), "uses no questions"),
        (("label", "cat", "--good", "1", "--bad", "1"), "as good and as bad"),
        (("label", "cat", "--good", "99"), "There is no hit 99"),
        (("label", "cat", "--good", "one"), "not a list of numbers"),
    ],
)
def test_invalid_input_is_one_line(folder, arguments, message):
    assert message in cdesearch(*arguments, cwd=folder, code=2).stderr


def test_a_tuned_weight_is_used_at_the_next_search_and_kept_until_reset(folder):
    index = Index.open(folder)
    with Searcher(index) as searcher:
        before = [hit.score for hit in searcher.search("cat water", 3)]
        write_text_weight(index.folder, 4 * TEXT_WEIGHT)
        tuned = searcher.search("cat water", 3)
        assert [hit.score for hit in tuned] != before
        assert searcher.explain(tuned[0].chunk.id, "cat water", 3).score == pytest.approx(tuned[0].score)
        cdesearch("index", ".", "--rebuild", cwd=folder)
        assert read_text_weight(index.folder) == 4 * TEXT_WEIGHT
        assert json.loads(cdesearch("status", "--json", cwd=folder).stdout)["text_weight"] == 4 * TEXT_WEIGHT
        cdesearch("tune", "--reset", cwd=folder)
        assert read_text_weight(index.folder) is None
        assert [hit.score for hit in searcher.search("cat water", 3)] == pytest.approx(before, abs=1e-4)


@pytest.mark.slow
def test_tune_says_that_nothing_was_changed_or_what(folder):
    run = cdesearch("tune", "--auto", "24", "--dry-run", cwd=folder)
    assert "questions made from the index" in run.stdout and "in use" in run.stdout
    assert "Nothing was changed" in run.stdout or "would be changed" in run.stdout
    assert read_text_weight(Index.open(folder).folder) is None


def test_hits_are_marked_by_numbers_and_by_keys(folder, monkeypatch):
    run = cdesearch("label", "where does the cat get water", "--good", "1,2", "--bad", "3", cwd=folder)
    assert "Marked 2 hits as good and 1 as bad." in run.stdout
    monkeypatch.setattr("sys.stdin", StringIO("x\ng\nb\ns\nq\n"))
    run = cdesearch("label", "the light of the moon", cwd=folder)
    assert "Marked 1 hit as good and 1 as bad." in run.stdout and "2 questions" in run.stdout
    assert json.loads(cdesearch("eval", "--labels", "--json", cwd=folder).stdout)["questions"] == 2


def test_a_number_that_no_hit_has_is_asked_again_and_the_marks_before_it_are_kept(folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", StringIO("g\n1,99\nb\nq\n"))
    run = cdesearch("label", "the engine has light", cwd=folder)
    assert "There is no hit 99" in run.stdout and "Marked 1 hit as good and 1 as bad." in run.stdout


def test_ctrl_c_keeps_the_marks_so_far(folder, monkeypatch):
    class Stopped:
        lines = iter(["g\n"])

        def readline(self):
            for line in self.lines:
                return line
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Stopped())
    assert "Marked 1 hit as good and 0 as bad." in cdesearch("label", "the light of the moon", cwd=folder).stdout


def test_tune_says_how_many_questions_a_small_folder_allows(tmp_path):
    (tmp_path / "pets.md").write_text("# How a cat lives with people\n\n" + "the cat drinks water and sleeps. " * 8)
    cdesearch("index", ".", cwd=tmp_path)
    error = cdesearch("tune", "--auto", "40", cwd=tmp_path, code=2).stderr
    assert "20 questions are needed, but only 1 can be made from the texts of this index." in error
    assert "--auto" not in error and "--questions FILE or --labels" in error
