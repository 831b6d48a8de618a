import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from batches import write_rows
from beir_folder import WORDS as TOPICS
from beir_folder import write_set
from built import write_files
from conftest import TINY, make_tokenizer
from msgspec.structs import replace

from cdesearch.encode.embedder import context_of_texts
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError, ModelError, TrainingError
from cdesearch.models.config import NO_STATISTICS
from cdesearch.progress import Silent
from trainer import train as module
from trainer.data.material import prepare_material
from trainer.loss.batch_loss import BatchLoss
from trainer.loss.heads import TokenWeights, WhiteningHead
from trainer.recipe import ModelChoice, load_recipe
from trainer.run.folder import locked, read_log
from trainer.run.loop import ending_when_stopped
from trainer.starting import starting_model
from trainer.step.gradcache import GradCache
from trainer.train import held_out_losses, train, what_was_learned


@pytest.fixture(scope="module")
def recipe_file(tmp_path_factory, tiny_checkpoint):
    """Each query is a code; its document contains the code among words of all documents."""
    folder = tmp_path_factory.mktemp("training")
    random = np.random.default_rng(0)
    rows, corpus, queries = [], [], []
    for number in range(360):
        topic = TOPICS[number % len(TOPICS)]
        code = "".join(random.choice(list("abcdefgh"), size=3))
        query, document = f"{code} ?", f"the {topic} {' '.join(random.choice(TOPICS, size=4))} {code} the"
        if number < 300:
            rows.append({"query": query, "document": document})
        else:
            corpus.append({"_id": str(number), "text": document})
            queries.append({"_id": f"q{number}", "text": query})
    write_rows(folder / "pairs.jsonl", rows)
    write_set(folder / "beir", corpus=corpus, queries=queries)
    (folder / "recipe.toml").write_text(
        f"""
        [data]
        pairs = ["{folder}/pairs.jsonl"]
        held_out = 0.2
        [model]
        start = "{tiny_checkpoint}"
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


def test_a_run_says_at_its_end_whether_the_context_has_become_of_use():
    start, useful = {"true": 0.8, "random": 0.8, "null": 0.9}, {"true": 0.5, "random": 0.7, "null": 0.75}
    assert what_was_learned(start, useful) == (
        "The held-out loss fell from 0.800 to 0.500: by 0.300 with its own context, by 0.100 with that of another"
        " batch, and by 0.150 without one. So its own context has become more useful."
    )
    for last in (start, useful | {"random": 0.4}):
        assert what_was_learned(start, last).endswith("So its own context has not become more useful.")


def test_losses_fall_and_the_checkpoint_embeds(recipe_file, tmp_path):
    recipe = load_recipe(recipe_file, {"run.out": str(tmp_path / "out")})
    folder = train(recipe, Silent())
    log = read_log(recipe.run.out)
    losses = [row["loss"] for row in log if "loss" in row]
    assert np.mean(losses[-8:]) < 0.95 * np.mean(losses[:8])
    watched = [row["held_out"] for row in log if "held_out" in row]
    assert watched[-1].keys() == {"true", "random", "null"} and watched[-1]["true"] < watched[0]["true"]
    encoder = load_encoder(folder)
    assert type(encoder._runtime).__name__ == "OnnxRuntime"
    assert encoder.config.statistics != load_encoder(recipe.model.start).config.statistics
    assert encoder.encode(["the cat"], "query", None).shape == (1, 16)


@pytest.mark.slow
def test_a_run_that_was_killed_and_resumed_ends_like_an_undisturbed_one(recipe_file, tmp_path):
    changes = {"learning.epochs": "3"}
    whole = load_recipe(recipe_file, {**changes, "run.out": str(tmp_path / "whole")})
    train(whole, Silent())
    program = (
        "import sys; from pathlib import Path; from cdesearch.progress import Silent\n"
        "from trainer.recipe import load_recipe; from trainer.run import loop; from trainer.train import train\n"
        "loop.SAVE_SECONDS = 0.0\n"
        f"recipe = load_recipe(Path({str(recipe_file)!r}), {{**{changes!r}, 'run.out': sys.argv[1]}})\n"
        "train(recipe, Silent())"
    )
    out = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-c", program, str(out)], env=os.environ)
    log = out / "log.jsonl"
    while not log.exists() or log.read_text().count('"loss"') < 10:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    train(load_recipe(recipe_file, {**changes, "run.out": str(out)}), Silent(), resume=True)
    assert dict(losses_of(out)) == dict(losses_of(whole.run.out))


@pytest.mark.slow
def test_a_resumed_run_can_take_more_steps_but_not_fewer(recipe_file, tmp_path):
    changes = {"run.out": str(tmp_path / "out"), "learning.steps": "3"}
    train(load_recipe(recipe_file, changes), Silent())
    train(load_recipe(recipe_file, {**changes, "learning.steps": "5"}), Silent(), resume=True)
    assert [step for step, _ in losses_of(tmp_path / "out")] == [1, 2, 3, 4, 5]
    with pytest.raises(InputError, match=r"has taken 5 steps, and the recipe has 4\."):
        train(load_recipe(recipe_file, {**changes, "learning.steps": "4"}), Silent(), resume=True)


@pytest.mark.slow
def test_a_second_process_with_the_same_folder_is_refused_in_one_line(recipe_file, tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.run.folder.LOCK_SECONDS", 0.1)
    changes = {"run.out": str(tmp_path / "out"), "run.work": str(tmp_path / "work"), "learning.steps": "1"}
    recipe = load_recipe(recipe_file, changes)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "RUN").touch()
    for folder, setting in ((recipe.run.out, "run.out"), (recipe.run.work, "run.work")):
        with locked(folder, setting), pytest.raises(InputError, match=rf"writing to {folder}\..* another {setting}\."):
            train(recipe, Silent())
    assert not (tmp_path / "out" / "state.pt").exists()
    train(recipe, Silent())


def losses_of(folder):
    rows = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [(row["step"], row["loss"]) for row in rows if "loss" in row]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_inside_the_optimizer_neither_loses_nor_repeats_a_step(recipe_file, tmp_path, monkeypatch, number):
    changes = {"learning.steps": "5"}
    whole = load_recipe(recipe_file, {**changes, "run.out": str(tmp_path / "whole")})
    train(whole, Silent())
    stopped = load_recipe(recipe_file, {**changes, "run.out": str(tmp_path / "stopped")})
    original, calls = torch.optim.AdamW.step, []

    def step(self):
        original(self)
        calls.append(number)
        if len(calls) == 3:
            signal.raise_signal(number)

    with monkeypatch.context() as patch:
        patch.setattr(torch.optim.AdamW, "step", step)
        with pytest.raises(SystemExit) as stop, ending_when_stopped(stopped.run.out):
            train(stopped, Silent())
    assert stop.value.code == 128 + number and len(calls) == 3
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    train(stopped, Silent(), resume=True)
    assert losses_of(stopped.run.out) == losses_of(whole.run.out)


def test_prepared_data_can_be_moved_to_another_machine(recipe_file, tmp_path, monkeypatch):
    """On another machine, paths and times of files differ, and so do the last bits of vectors computed again."""

    def batches_of(machine):
        changes = {"data.pairs": f'["{machine}/pairs.jsonl"]', "data.keep_out": f'["{machine}/beir"]'}
        recipe = load_recipe(recipe_file, {**changes, "run.out": f"{machine}/out", "run.work": f"{machine}/work"})
        stream = prepare_material(recipe, starting_model(recipe.model), make_tokenizer(), Silent()).stream
        return [stream.batch(step).documents.ids.tolist() for step in range(4)]

    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    shutil.copyfile(recipe_file.parent / "pairs.jsonl", here / "pairs.jsonl")
    shutil.copytree(recipe_file.parent / "beir", here / "beir")
    expected = batches_of(here)
    here.rename(there)
    os.utime(there / "pairs.jsonl", (1, 1))
    for file in (there / "work" / "surrogate").glob("*/*.npy"):
        np.save(file, np.load(file) * np.float32(1 + 1e-6))
    monkeypatch.setattr("trainer.data.pairs.domains.read_pairs", lambda *_: pytest.fail("read again"))
    monkeypatch.setattr("trainer.data.material.cluster_pairs", lambda *_: pytest.fail("clustered again"))
    assert batches_of(there) == expected
    (there / "beir" / "queries.jsonl").write_text('{"_id": "q", "text": "another"}')
    with pytest.raises(pytest.fail.Exception, match="read again"):
        batches_of(there)


@pytest.mark.parametrize("context", ["none", "statistics", "attention", "both", "joint"])
def test_a_new_start_has_what_its_recipe_reads(bert, context):
    attends = context in ("attention", "both", "joint")
    model = starting_model(ModelChoice(start=bert, context=context))
    config, stage = model.config, model.second_stage
    assert (config.first_stage == "own") == attends and (config.context_attention == "joint") == (context == "joint")
    assert config.context_sink == (context in ("attention", "both")) and stage.gates_are_zero == (context != "joint")
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert ("second_stage.backbone.tokens.weight" in trained) == (context == "joint")
    assert ("second_stage.null" in trained) == attends


@pytest.mark.parametrize("kind", ["closed_checkpoint", "joint_checkpoint"])
def test_the_surrogate_is_the_model_that_the_recipe_names(recipe_file, tmp_path, kind, request):
    surrogate = request.getfixturevalue(kind)
    changes = {"run.out": str(tmp_path / "out"), "run.surrogate": str(surrogate), "batches.max_tokens": "20"}
    recipe = load_recipe(recipe_file, changes)
    prepare_material(recipe, starting_model(recipe.model), make_tokenizer(), Silent())
    (file,) = (recipe.run.out / "data" / "surrogate").glob("pairs-query-*/vectors.npy")
    rows = (json.loads(line) for line in recipe.data.pairs[0].read_text().splitlines())
    own = load_encoder(surrogate).truncated_to(20).encode([row["query"] for row in rows], "query", None)
    np.testing.assert_allclose(np.load(file), own, atol=1e-5)


def test_a_recipe_names_further_teachers(recipe_file, tmp_path, closed_checkpoint, joint_checkpoint):
    changes = {"run.out": str(tmp_path / "out"), "learning.steps": "1", "learning.teacher_weight": "0.5"}
    teachers = f'["{closed_checkpoint}", "{joint_checkpoint}"]'
    train(load_recipe(recipe_file, changes | {"objective.teachers": teachers}), Silent())
    assert len(list((tmp_path / "out" / "data" / "surrogate").glob("pairs-query-*"))) == 3
    changes |= {"objective.teachers": '["nowhere"]', "run.out": str(tmp_path / "no")}
    with pytest.raises(ModelError, match="nowhere"):
        train(load_recipe(recipe_file, changes), Silent())
    with pytest.raises(InputError, match="adds to the soft labels"):
        load_recipe(recipe_file, changes | {"learning.teacher_weight": "0"})


@pytest.mark.parametrize(("context", "size"), [("joint", 5), ("both", 5), ("statistics", TINY.context_size)])
def test_an_index_samples_as_many_chunks_as_the_model_was_trained_to_attend_to(
    recipe_file, tmp_path, joint_checkpoint, tiny_checkpoint, context, size
):
    start = joint_checkpoint if context == "joint" else tiny_checkpoint
    changes = {"model.start": str(start), "batches.context_size": "5", "learning.steps": "1", "model.context": context}
    recipe = load_recipe(recipe_file, {**changes, "run.out": str(tmp_path / "out")})
    assert load_encoder(train(recipe, Silent())).context_size == size


@pytest.mark.slow
def test_held_out_losses_are_measured_with_the_context_of_the_batch_and_a_disjoint_one(recipe_file, tmp_path):
    changes = {"run.out": str(tmp_path / "out"), "learning.steps": "3", "batches.context": "cluster"}
    recipe = load_recipe(recipe_file, changes)
    train(recipe, Silent())
    first, last = [row["held_out"] for row in read_log(recipe.run.out) if "held_out" in row]
    assert first.keys() == last.keys() == {"true", "random", "null", "batch"}
    assert len(set(last.values())) == 4
    model = starting_model(recipe.model)
    batches = prepare_material(recipe, model, make_tokenizer(), Silent()).held_out
    alone = load_recipe(recipe_file, {"run.out": str(tmp_path / "own")})
    own = prepare_material(alone, model, make_tokenizer(), Silent())
    loss = BatchLoss(WhiteningHead(model.config.statistics), model.config.document_weight, 0.05)
    weights = TokenWeights(model.config.backbone.vocabulary, [0, 1, 2, 3], torch.device("cpu"))
    cache = GradCache(model, loss.head, 16)
    disjoint, same = (held_out_losses(cache, loss, weights, some) for some in (batches, own.held_out))
    assert disjoint["batch"] == pytest.approx(same["true"]) and disjoint["null"] == pytest.approx(same["null"])
    assert disjoint["true"] != pytest.approx(same["true"], abs=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"), [({"temperature": 1e-300}, "loss is nan"), ({"rate": 1e30}, "Lower the learning rates")]
)
def test_numbers_that_are_not_finite_stop_the_run(recipe_file, tmp_path, changes, message):
    recipe = load_recipe(recipe_file, {"run.out": str(tmp_path / "out"), "learning.warmup": "0"})
    with pytest.raises(TrainingError, match=message):
        train(replace(recipe, learning=replace(recipe.learning, **changes)), Silent())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batches.max_tokens": "129"}, r"batches\.max_tokens is 129, but .* has 128 positions"),
        ({"batches.size": "1000"}, "No domain has the 1000 pairs"),
        ({"model.context": "joint"}, "model.context is joint, but .* has cached attention"),
        ({"learning.teacher_weight": "0.5", "objective.teacher": "'pairs'"}, "pairs has pairs without `scores`"),
    ],
)
def test_a_recipe_that_does_not_fit_its_start_or_its_pairs_is_refused(recipe_file, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        train(load_recipe(recipe_file, {**changes, "run.out": str(tmp_path / "out")}), Silent())


def test_a_run_leaves_the_files_of_somebody_else_alone(recipe_file, tmp_path):
    names = ("notes/thesis.txt", "checkpoint/mine.txt", "checkpoint.new/x", "state.pt.notes-2024", "log.jsonl")
    write_files(tmp_path, dict.fromkeys(names, "mine"))
    with pytest.raises(InputError, match="not the folder of a run"):
        train(load_recipe(recipe_file, {"run.out": str(tmp_path), "learning.steps": "1"}), Silent())
    found = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == dict.fromkeys(names, "mine")


def train_in_two_processes(program, changes):
    """Run a program of torchrun with two processes on a CPU, which communicate by gloo; returns what it printed."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    settings = [f"--set={name}={value}" for name, value in changes.items()]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([*torchrun, *program, *settings], check=True, env=environment, capture_output=True, text=True)
    return done.stderr


@pytest.mark.slow
def test_two_processes_see_twice_the_pairs_of_a_step_and_continue(recipe_file, tmp_path, monkeypatch):
    for name in ("GATE_RATE", "HEAD_RATE"):
        monkeypatch.setattr(module, name, 1e-12)
    frozen = {f"learning.{name}": "1e-12" for name in ("rate", "context_rate")}
    changes = {**frozen, "learning.steps": "6", "batches.context": "cluster", "run.watch_every": "9"}
    both = {**changes, "model.context": "statistics", "run.out": tmp_path / "two"}
    one = load_recipe(recipe_file, {**changes, "model.context": "statistics", "run.out": str(tmp_path / "alone")})
    train(one, Silent())
    (tmp_path / "frozen.py").write_text(
        "import sys; from trainer import train; train.GATE_RATE = train.HEAD_RATE = 1e-12\n"
        "from trainer.__main__ import main; sys.exit(main())"
    )
    program = [str(tmp_path / "frozen.py"), str(recipe_file), "--resume"]
    printed = train_in_two_processes(program, {**both, "learning.steps": "2"})
    assert printed.count("The checkpoint is in") == 1
    train_in_two_processes(program, {**both, "learning.steps": "3"})
    # The rates change next to nothing, so the loss of a step is the mean of those of its two batches.
    alone, together = ([loss for _, loss in losses_of(tmp_path / name)] for name in ("alone", "two"))
    pairs_of_steps = np.reshape(alone, (3, 2))
    np.testing.assert_allclose(together, pairs_of_steps.mean(1), atol=2e-3)
    assert np.ptp(pairs_of_steps, axis=1).min() > 1e-2, "the two batches of a step differ"
    assert (tmp_path / "two" / "checkpoint" / "onnx" / "second_stage.onnx").exists()
    with pytest.raises(InputError, match="another number of processes, 2"):
        train(load_recipe(recipe_file, {name: str(value) for name, value in both.items()}), Silent(), resume=True)


def write_books(tmp_path):
    random = np.random.default_rng(0)
    books = []
    for number in range(24):
        chunks = [" ".join(random.choice(TOPICS, size=5)) for _ in range(5)]
        questions = [
            {"text": f"{chunk.split()[0]} {number} {place}", "chunk": place} for place, chunk in enumerate(chunks)
        ]
        books.append({"doc_id": f"book {number}", "title": "", "chunks": chunks, "questions": questions})
    return write_rows(tmp_path / "books.jsonl", books)


@pytest.mark.slow
def test_late_chunking_is_trained_on_windows_and_the_checkpoint_reads_them(recipe_file, tmp_path):
    changes = {
        "data.pairs": f'["{write_books(tmp_path)}"]',
        "batches.size": "20",
        "batches.clusters": "'documents'",
        "model.window_tokens": "30",
        "objective.contextual": "true",
        "learning.epochs": "8",
        "run.out": str(tmp_path / "out"),
    }
    recipe = load_recipe(recipe_file, changes)
    folder = train(recipe, Silent())
    losses = [row["loss"] for row in read_log(recipe.run.out) if "loss" in row]
    assert np.mean(losses[-4:]) < 0.9 * np.mean(losses[:4])
    encoder = load_encoder(folder)
    assert encoder.config.window_tokens == 30
    material = prepare_material(recipe, starting_model(recipe.model), make_tokenizer(), Silent())
    batch = material.stream.batch(0)
    books = [json.loads(line)["chunks"] for line in (tmp_path / "books.jsonl").read_text().splitlines()]
    tokens = batch.windows.tokens
    windows = [tuple(ids[mask > 0].tolist()) for ids, mask in zip(tokens.ids, tokens.mask, strict=True)]
    of_index = set()
    for book in books:
        for window in encoder.windows(book):
            of_index.add(tuple(number for at in window for number in encoder.tokenizer.encode(book[at]).ids))
    # The first and the last document of a batch may be incomplete; windows of the others are those of an index.
    assert sum(window in of_index for window in windows) >= len(windows) - 4 and len(windows) > 6
    with pytest.raises(InputError, match="128 positions"):
        starting_model(load_recipe(recipe_file, {**changes, "model.window_tokens": "129"}).model)


def test_a_held_out_domain_is_watched_and_never_trained_on(recipe_file, tmp_path):
    changes = {"run.out": str(tmp_path / "out"), "data.held_out_domains": '["pairs"]'}
    pairs = json.dumps([str(recipe_file.with_name("pairs.jsonl")), str(tmp_path / "other.jsonl")])
    words = [{"query": f"code {n}", "document": f"moon bread {n}"} for n in range(60)]
    write_rows(tmp_path / "other.jsonl", words)
    recipe = load_recipe(recipe_file, {**changes, "data.pairs": pairs})
    material = prepare_material(recipe, starting_model(recipe.model), make_tokenizer(), Silent())
    assert len(material.held_out) == 300 // 30
    assert material.stream.steps_per_epoch == 60 // 30  # the whole of the other domain: no share of it is held out
    assert all("moon bread" in text for text in material.texts)


def test_without_statistics_and_attention_the_context_changes_nothing(recipe_file, tmp_path):
    changes = {"run.out": str(tmp_path / "out"), "learning.steps": "3", "model.context": "none"}
    encoder = load_encoder(train(load_recipe(recipe_file, changes), Silent()))
    assert encoder.config.statistics == NO_STATISTICS
    *_, last = [row["held_out"] for row in read_log(tmp_path / "out") if "held_out" in row]
    assert last["true"] == pytest.approx(last["null"], rel=1e-5) == last["random"]
    texts = ["the cat water", "moon bread", "engine the stone"]
    context = context_of_texts(encoder, texts, len(texts), 0)
    np.testing.assert_array_equal(encoder.encode(texts, "document", context), encoder.encode(texts, "document", None))
