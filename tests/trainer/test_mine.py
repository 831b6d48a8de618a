import gzip
import json
import signal

import numpy as np
import pytest
import torch
from random_biencoder import biencoder_folder

from cdesearch.progress import Silent
from trainer.data.surrogate.model import open_surrogate
from trainer.mine import main, nearest
from trainer.recipe import load_recipe
from trainer.replacing import UNFINISHED
from trainer.run.log import read_log
from trainer.train import train

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]
EPS = 0.05


@pytest.fixture(scope="module")
def recipe_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mining")
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, size=3)) for _ in range(60)]
    rows = [{"query": f"{text.split()[0]} {number % 20}", "document": text} for number, text in enumerate(texts)]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, [*rows, {"query": "cat 1", "document": "the dog"}])))
    biencoder_folder(folder / "bert")
    (folder / "recipe.toml").write_text(
        f"""
        [data]
        pairs = ["{folder}/pairs.jsonl"]
        [model]
        start = "{folder}/bert"
        [batches]
        size = 20
        max_tokens = 32
        [run]
        out = "{folder}/out"
        """
    )
    return folder / "recipe.toml"


def mined(recipe_file, out, *options):
    assert main([str(recipe_file), str(out), *options, "--eps", str(EPS)]) == 0
    with gzip.open(out / "pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_negatives_are_the_nearest_documents_that_the_filter_leaves(recipe_file, tmp_path):
    rows = mined(recipe_file, tmp_path, "--negatives", "4")
    encoder = open_surrogate(recipe_file.with_name("bert"), torch.device("cpu")).truncated_to(32)
    queries = encoder.encode([row["query"] for row in rows], "query", None)
    documents = encoder.encode([row["document"] for row in rows], "document", None)
    for number, row in enumerate(rows):
        of_query = {other["document"] for other in rows if other["query"] == row["query"]}
        own = float(queries[number] @ documents[number])
        allowed = {}
        for other, vector in zip(rows, documents, strict=True):
            score = float(queries[number] @ vector)
            if other["document"] not in of_query and score <= own + EPS * abs(own) + 1e-6:
                allowed[other["document"]] = score
        best = sorted(allowed.values(), reverse=True)[:4]
        assert len(row["negatives"]) == len(set(row["negatives"])) == len(best)
        np.testing.assert_allclose([allowed[text] for text in row["negatives"]], best, atol=1e-5)


def test_mined_pairs_are_trained_on_with_their_negatives(recipe_file, tmp_path):
    mined(recipe_file, tmp_path / "mined", "--negatives", "2")
    changes = {
        "data.pairs": json.dumps([str(tmp_path / "mined")]),
        "batches.hard_negatives": "2",
        "learning.steps": "2",
        "run.out": json.dumps(str(tmp_path / "out")),
    }
    train(load_recipe(recipe_file, changes), Silent())
    assert sum("loss" in line for line in read_log(tmp_path / "out")) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--negatives", "0"), "Name a number above 0"), (("--set", "data.pairs"), "has no value")],
)
def test_bad_options_are_one_line_and_exit_code_2(recipe_file, tmp_path, capsys, options, message):
    assert main([str(recipe_file), str(tmp_path), *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_neither_pairs_nor_files_of_somebody_else_are_overwritten(recipe_file, tmp_path, capsys):
    pairs = recipe_file.with_name("pairs.jsonl")
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "pairs.jsonl.gz").write_bytes(gzip.compress(pairs.read_bytes()))
    (tmp_path / "link").symlink_to(tmp_path / "pairs")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pairs.jsonl.gz").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    named = f'--set=data.pairs=["{tmp_path}/pairs"]'
    where = f"--set=run.out={tmp_path / 'run'}"
    for out, message in (
        ("pairs", "which is an input"),
        ("link", "which is an input"),
        ("other", "jsonl.gz exists and would be overwritten"),
        ("other/pairs.jsonl.gz", "is not a folder"),
    ):
        assert main([str(recipe_file), str(tmp_path / out), named, where]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
    assert main([str(recipe_file), str(tmp_path / "pairs"), where]) == 2  # not the pairs of this recipe
    assert "pairs.jsonl.gz exists and would be overwritten" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_mining_that_is_stopped_leaves_nothing_and_can_be_started_again(recipe_file, tmp_path, monkeypatch, number):
    rows = recipe_file.with_name("pairs.jsonl").read_text()
    (tmp_path / "pairs").mkdir()
    for name in ("first", "second"):
        (tmp_path / "pairs" / f"{name}.jsonl").write_text(rows)
    arguments = [str(recipe_file), str(tmp_path / "out"), f'--set=data.pairs=["{tmp_path}/pairs"]']
    arguments.append(f"--set=run.out={tmp_path / 'run'}")

    def stopped_in_second(domain, *others):
        for count, row in enumerate(nearest(domain, *others)):
            if domain.name == "second" and count == 20:
                signal.raise_signal(number)
            yield row

    with monkeypatch.context() as patched:
        patched.setattr("trainer.mine.nearest", stopped_in_second)
        assert main(arguments) == 128 + number
    assert list((tmp_path / "out").iterdir()) == []
    (tmp_path / "out" / f"first.jsonl.gz{UNFINISHED}").write_text("of a command that was killed")
    assert main(arguments) == 0
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"first.jsonl.gz", "second.jsonl.gz"}


def test_mining_keeps_its_data_in_the_folder_of_a_run(recipe_file, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("mine")
    assert main([str(recipe_file), str(tmp_path / "out"), f"--set=run.out={tmp_path / 'run'}"]) == 2
    assert "not the folder of a run" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.txt"]
