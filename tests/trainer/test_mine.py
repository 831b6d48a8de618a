import gzip
import json
import signal

import numpy as np
import pytest
import torch
from batches import WORDS, write_rows
from command import cdesearch_process
from hidden_libraries import run_module_without
from random_biencoder import biencoder_folder

from cdesearch.errors import InputError
from cdesearch.progress import Silent
from trainer.command import mine as command
from trainer.data.pairs.reading import Pair, read_pairs
from trainer.data.surrogate import WordScores, open_surrogate
from trainer.mine import NO_CANDIDATE, WORK, Mining, drawn, mine, with_negatives

MARGIN = 0.05


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pairs among which queries and documents occur several times, and a biencoder."""
    folder = tmp_path_factory.mktemp("mining")
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, size=3)) for _ in range(60)]
    rows = [{"query": f"{text.split()[0]} {number % 20}", "document": text} for number, text in enumerate(texts)]
    rows += [{"query": "cat 1", "document": "The dog"}, {"query": "river 2", "document": "the  dog", "group": "a"}]
    write_rows(folder / "pairs.jsonl", rows)
    biencoder_folder(folder / "bert")
    return folder


def mined(folder, out, **options):
    command(folder / "pairs.jsonl", out, **{"margin": MARGIN, **options})
    with gzip.open(out / "pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def scores_of(rows, folder, by_model):
    queries, documents = ([row[name] for row in rows] for name in ("query", "document"))
    if not by_model:
        return WordScores.fit(dict.fromkeys(documents, None)).scores(queries), list(dict.fromkeys(documents))
    encoder = open_surrogate(folder / "bert", torch.device("cpu"))
    return encoder.encode(queries, "query", None) @ encoder.encode(documents, "document", None).T, documents


@pytest.mark.parametrize("by_model", [False, True])
def test_negatives_are_the_best_documents_that_may_not_answer_the_query(folder, tmp_path, by_model):
    rows = mined(folder, tmp_path, count=4, depth=4, **({"model": folder / "bert"} if by_model else {}))
    assert [row.get("group") for row in rows[-2:]] == [None, "a"]
    answers = {}
    for row in rows:
        answers.setdefault(row["query"], set()).add(" ".join(row["document"].lower().split()))
    texts = dict.fromkeys(row["document"] for row in rows if row["document"] != "the  dog")
    scores, documents = scores_of(
        [{**row, "document": row["document"].replace("the  ", "The ")} for row in rows], folder, by_model
    )
    for number, row in enumerate(rows):
        of_texts = dict(zip(documents, scores[number].tolist(), strict=True))
        own = of_texts[row["document"].replace("the  ", "The ")]
        allowed = {
            text: of_texts[text]
            for text in texts
            if text.lower() not in answers[row["query"]] and 0 < of_texts[text] <= own + MARGIN * abs(own) + 1e-6
        }
        best = sorted(allowed.values(), reverse=True)[:4]
        assert len(row["negatives"]) == len(set(row["negatives"])) == len(best)
        np.testing.assert_allclose([allowed[text] for text in row["negatives"]], best, atol=1e-5)


def test_as_many_as_wanted_are_drawn_from_the_best_by_the_seed():
    scores = np.float32([5, NO_CANDIDATE, 4, 3, 2, 9, NO_CANDIDATE, 1])
    seen = set()
    for seed in range(40):
        chosen = drawn(scores, Mining(depth=4, count=2), np.random.default_rng(seed))
        assert chosen == drawn(scores, Mining(depth=4, count=2), np.random.default_rng(seed))
        assert len(chosen) == 2 and set(chosen) <= {5, 0, 2, 3} and scores[chosen[0]] > scores[chosen[1]]
        seen |= set(chosen)
    assert seen == {5, 0, 2, 3}
    assert drawn(scores, Mining(depth=100, count=100), np.random.default_rng(0)) == [5, 0, 2, 3, 4, 7]


def test_negatives_that_a_pair_has_are_kept_and_alternate_with_new_ones(tmp_path):
    pairs = [Pair("cat moon", "cat moon dog", ("old", "older", "cat")), Pair("dog", "cat"), Pair("moon", "moon")]
    (found, *_) = with_negatives("pairs", pairs, tmp_path, Mining(), Silent())
    assert found.negatives[1::2] == ("old", "older") and {*found.negatives} == {"old", "older", "cat", "moon"}


def test_a_negative_that_answers_the_query_is_left_out(tmp_path):
    pairs = [
        Pair("who", "moon light", ("Moon  LIGHT", "water", "bread"), scores=(9.0, 8.0, 7.0, 6.0)),
        Pair("Who", "Water"),
    ]
    found, _ = with_negatives("pairs", pairs, tmp_path, Mining(), Silent())
    assert found.negatives == ("bread",) and found.scores == (9.0, 6.0)


def test_scores_are_kept_without_new_negatives(tmp_path):
    pairs = [
        Pair("cat", "cat moon", ("old",), scores=(2.0, 1.0)),
        Pair("cat stone", "stone", ("old",), scores=(4.0, 3.0)),
        Pair("bread", "bread"),
    ]
    mine([("pairs", pairs)], [], tmp_path / "out", Mining(margin=9), Silent())
    first, second, _ = read_pairs(tmp_path / "out" / "pairs.jsonl.gz")
    assert (first.negatives, first.scores) == (("old",), (2.0, 1.0))
    assert (second.negatives, second.scores) == (("cat moon", "old"), ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pairs.jsonl", "out", "--count", "999999999999"], "Invalid value for '--count': Input should be less"),
        (["pairs.jsonl", "out", "--margin", "nan"], "Invalid value for '--margin'"),
        (["", "out"], "An argument is empty."),
        (["none.jsonl", "out"], "There is no pair file or folder none.jsonl"),
        (["empty.jsonl", "out"], "empty has no pairs of texts"),
        (["pairs.jsonl", "out", "--model", "nowhere"], "nowhere"),
    ],
)
def test_bad_options_are_one_line_and_exit_code_2(folder, arguments, message):
    (folder / "empty.jsonl").write_text("")
    run = cdesearch_process("mine", *arguments, cwd=folder, code=None)
    assert run.returncode == 2 and message in run.stderr and run.stderr.count("\n") - ("Mining" in run.stderr) <= 1
    assert not list(folder.glob("out/*.gz"))


def test_words_alone_need_no_torch(folder, tmp_path):
    pairs = str(folder / "pairs.jsonl")
    run = run_module_without("torch", "cdesearch", "mine", pairs, "words", cwd=tmp_path)
    assert run.returncode == 0 and "62 pairs" in run.stdout
    run = run_module_without("torch", "cdesearch", "mine", pairs, "out", "--model", str(folder / "bert"), cwd=tmp_path)
    assert run.returncode == 2 and run.stderr.startswith("error: torch is not installed")


def test_neither_pairs_nor_files_of_somebody_else_are_overwritten(folder, tmp_path):
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "pairs.jsonl.gz").write_bytes(gzip.compress((folder / "pairs.jsonl").read_bytes()))
    (tmp_path / "link").symlink_to(tmp_path / "pairs")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pairs.jsonl.gz").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for out, message in (
        ("pairs", "which is an input"),
        ("link", "which is an input"),
        ("other", "jsonl.gz exists and would be overwritten"),
        ("other/pairs.jsonl.gz", "is not a folder"),
    ):
        with pytest.raises(InputError, match=message):
            command(tmp_path / "pairs", tmp_path / out)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_mining_that_is_stopped_leaves_no_pairs_and_can_be_started_again(folder, tmp_path, monkeypatch, number):
    rows = (folder / "pairs.jsonl").read_text()
    (tmp_path / "pairs").mkdir()
    for name in ("first", "second"):
        (tmp_path / "pairs" / f"{name}.jsonl").write_text(rows)

    def stopped_in_second(name, *others):
        for count, pair in enumerate(with_negatives(name, *others)):
            if name == "second" and count == 20:
                signal.raise_signal(number)
            yield pair

    with monkeypatch.context() as patched:
        patched.setattr("trainer.mine.with_negatives", stopped_in_second)
        with pytest.raises(SystemExit) as stopped:
            command(tmp_path / "pairs", tmp_path / "out")
    assert stopped.value.code == 128 + number
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == [WORK]
    command(tmp_path / "pairs", tmp_path / "out")
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"first.jsonl.gz", "second.jsonl.gz"}
