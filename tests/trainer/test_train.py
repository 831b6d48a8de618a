import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cdesearch.encoder import load_encoder
from cdesearch.errors import InputError
from trainer.display import Silent
from trainer.recipe import load_recipe
from trainer.train import TrainingError, train

TOPICS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone"]


@pytest.fixture(scope="module")
def recipe_file(tmp_path_factory, tiny_checkpoint):
    """Queries name a number, documents hold it among words that all share."""
    folder = tmp_path_factory.mktemp("training")
    random = np.random.default_rng(0)
    rows, corpus, queries, judged = [], [], [], ["query-id\tcorpus-id\tscore"]
    for number in range(360):
        topic = TOPICS[number % len(TOPICS)]
        code = "".join(random.choice(list("abcdefgh"), size=3))
        query, document = f"{code} ?", f"the {topic} {' '.join(random.choice(TOPICS, size=4))} {code} the"
        if number < 300:
            rows.append({"query": query, "document": document})
        else:
            corpus.append({"_id": str(number), "text": document})
            queries.append({"_id": f"q{number}", "text": query})
            judged.append(f"q{number}\t{number}\t1")
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    beir = folder / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (beir / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (beir / "qrels" / "test.tsv").write_text("\n".join(judged))
    (folder / "recipe.toml").write_text(
        f"""
        [data]
        pairs = ["{folder}/pairs.jsonl"]
        held_out = 0.2
        [model]
        start = "{tiny_checkpoint}"
        freeze_tokens = false
        [batches]
        size = 30
        context_size = 16
        cluster_size = 30
        filter = "none"
        [learning]
        epochs = 12
        rate = 3e-3
        warmup = 5
        micro_batch = 16
        [run]
        out = "{folder}/out"
        watch_every = 20
        """
    )
    return folder / "recipe.toml"


def log_of(recipe):
    return [json.loads(line) for line in (recipe.run.out / "log.jsonl").read_text().splitlines()]


def test_loss_falls_held_out_ndcg_rises_and_the_checkpoint_embeds(recipe_file, tmp_path):
    beir = recipe_file.parent / "beir"
    recipe = load_recipe(recipe_file, {"run.out": str(tmp_path / "out"), "run.evaluate": f'["{beir}"]'})
    folder = train(recipe, Silent())
    log = log_of(recipe)
    losses = [row["loss"] for row in log if "loss" in row]
    assert np.mean(losses[-8:]) < 0.8 * np.mean(losses[:8])
    before, after = [row["ndcg_true"] for row in log if "evaluation" in row]
    assert after > before + 5
    watched = [row["held_out"] for row in log if "held_out" in row]
    assert watched[-1].keys() == {"true", "random", "null"} and watched[-1]["true"] < watched[0]["true"]
    encoder = load_encoder(folder)
    assert type(encoder._runtime).__name__ == "OnnxRuntime"
    assert encoder.config.statistics != load_encoder(recipe.model.start).config.statistics
    assert encoder.encode(["the cat"], "query", None).shape == (1, 16)


def test_killed_and_resumed_it_ends_like_undisturbed(recipe_file, tmp_path):
    changes = {"run.checkpoint_minutes": "0.0", "learning.epochs": "6"}
    whole = load_recipe(recipe_file, {**changes, "run.out": str(tmp_path / "whole")})
    train(whole, Silent())
    program = (
        "import sys; from pathlib import Path; from trainer.display import Silent\n"
        "from trainer.recipe import load_recipe; from trainer.train import train\n"
        f"recipe = load_recipe(Path({str(recipe_file)!r}), {{**{changes!r}, 'run.out': sys.argv[1]}})\n"
        "train(recipe, Silent(), resume=len(sys.argv) > 2)"
    )
    out = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-c", program, str(out)], env=os.environ)
    log = out / "log.jsonl"
    while not log.exists() or log.read_text().count('"loss"') < 15:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    subprocess.run([sys.executable, "-c", program, str(out), "resume"], check=True)
    last = {row["step"]: row["loss"] for row in map(json.loads, log.read_text().splitlines()) if "loss" in row}
    expected = {row["step"]: row["loss"] for row in log_of(whole) if "loss" in row}
    assert last == expected


def test_a_resume_with_another_recipe_names_the_difference(recipe_file, tmp_path):
    changes = {"run.out": str(tmp_path / "out"), "learning.steps": "2"}
    train(load_recipe(recipe_file, changes), Silent())
    with pytest.raises(InputError, match=r"learning.rate: 0.003 -> 0.1"):
        train(load_recipe(recipe_file, {**changes, "learning.rate": "0.1"}), Silent(), resume=True)


def test_a_loss_that_is_no_number_stops_the_run(recipe_file, tmp_path):
    changes = {"run.out": str(tmp_path / "out"), "learning.temperature": "nan"}
    with pytest.raises(TrainingError, match="loss is nan"):
        train(load_recipe(recipe_file, changes), Silent())


def test_a_domain_smaller_than_a_batch_is_said(recipe_file, tmp_path):
    changes = {"run.out": str(tmp_path / "out"), "batches.size": "1000"}
    with pytest.raises(InputError, match="No domain has the 1000 pairs"):
        train(load_recipe(recipe_file, changes), Silent())
