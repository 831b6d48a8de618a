import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from adapted_index import make_index, masking_checkpoint

from cdesearch.errors import InputError
from cdesearch.models.contextual.model import load_checkpoint
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options
from trainer.adapting.adapt import adapt
from trainer.adapting.corpus import read_corpus
from trainer.adapting.own_pairs import own_pairs
from trainer.adapting.own_recipe import training_recipe
from trainer.adapting.pace import training_pace
from trainer.adapting.result import next_command, told
from trainer.run.log import read_log

MINUTES, STEPS = 60.0, 12  # so many minutes are never used


class StopAt(Silent):
    """A display that interrupts the work, as Ctrl-C does, when a stage begins or a number of its units is done."""

    def __init__(self, name, after=None):
        self._name, self._after, self.stages = name, after, []

    def stage(self, name, total):
        self.stages.append(name)
        if name == self._name and self._after is None:
            raise KeyboardInterrupt
        left = self._after

        def advance(n):
            nonlocal left
            if name == self._name and left is not None:
                left -= n
                if left <= 0:
                    raise KeyboardInterrupt

        return advance


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    return masking_checkpoint(tmp_path_factory.mktemp("start") / "model")


@pytest.fixture(scope="module")
def index(tmp_path_factory, start):
    return make_index(tmp_path_factory.mktemp("indexed"), start)


@pytest.fixture(scope="module")
def begun(tmp_path_factory, index):
    """The folder of work that was interrupted before the time of a step was measured, with a number of steps."""
    out = tmp_path_factory.mktemp("begun") / "out"
    with pytest.raises(KeyboardInterrupt):
        adapt(index, out, MINUTES, StopAt("Measuring the time of a step"))
    change_state(out, steps=STEPS)
    return out


@pytest.fixture(scope="module")
def stopped(tmp_path_factory, index, begun):
    """The folder of work that was interrupted twice more, in training and before the measuring."""
    out = tmp_path_factory.mktemp("work") / "out"
    shutil.copytree(begun, out)
    for display in (StopAt("Training", 2), StopAt("Measuring")):
        with pytest.raises(KeyboardInterrupt):
            adapt(index, out, MINUTES, display)
    return out


@pytest.fixture
def work(stopped, tmp_path):
    shutil.copytree(stopped, tmp_path / "out")
    return tmp_path / "out"


def change_state(out, **changes):
    state = json.loads((out / "adapting.json").read_text())
    (out / "adapting.json").write_text(json.dumps(state | changes))


def with_ranks(out, **changes):
    """Replace the ranks in the state: those of the start are .5, and `changes` are by share x 100."""
    ranks = {str(share): [0.5] * 80 for share in (0.0, 0.25, 0.5)}
    change_state(out, ranks=ranks | {str(int(name[1:]) / 100): values for name, values in changes.items()})


@pytest.mark.slow
def test_training_that_was_interrupted_continues_with_its_next_step(stopped):
    steps = [row["step"] for row in read_log(stopped / "training") if "loss" in row]
    assert steps == list(range(1, STEPS + 1))
    assert (stopped / ".gitignore").read_text() == "*\n"


def test_a_result_is_chosen_by_held_out_sentences_and_the_work_is_removed(work, index):
    adapted = adapt(index, work, MINUTES, Silent())
    ranks = json.loads((work / "adapting.json").read_text())["ranks"]
    assert {len(values) for values in ranks.values()} == {adapted.n_questions}
    assert {entry.name for entry in work.iterdir()} <= {"adapting.json", "model", ".gitignore", "lock"}
    assert (adapted.model is None) is (adapted.chosen.share == 0)
    refused = StopAt("Measuring")
    assert adapt(index, work, MINUTES, refused) == adapted and refused.stages == ["Reading chunks"]


def test_the_mean_that_sentences_choose_is_written_and_an_index_is_built_with_it(work, index, start, tmp_path):
    with_ranks(work, s25=[0.7] * 80, s50=[0.9] * 80)
    trained = load_checkpoint(work / "training" / "checkpoint").state_dict()
    adapted = adapt(index, work, MINUTES, Silent())
    assert adapted.chosen.share == 0.5 and adapted.model == work / "model"
    before, after = load_checkpoint(start).state_dict(), load_checkpoint(adapted.model).state_dict()
    for name, tensor in after.items():
        torch.testing.assert_close(tensor, (before[name] + trained[name]) / 2, msg=name)
    assert any(not torch.equal(tensor, before[name]) for name, tensor in after.items())
    shutil.copytree(index.root, tmp_path / "copy")
    copied = tmp_path / "copy" / index.folder.name
    build([tmp_path / "copy"], Options(model=adapted.model, rebuild=True), Silent())
    assert Index(copied).manifest.model_fingerprint != index.manifest.model_fingerprint
    assert next_command(copied, adapted.model) == (
        f"Next: cdesearch index --rebuild --model {adapted.model} --index {copied}"
    )
    assert "the gain on such sentences is at least +40.0" in list(told(adapted))[1]


def test_without_a_proven_gain_no_model_is_written_and_the_message_says_so(work, index):
    with_ranks(work, s25=[0.5] * 78 + [1.0, 0.4])
    adapted = adapt(index, work, MINUTES, Silent())
    assert adapted.model is None and not (work / "model").exists()
    assert "Nothing gained" in list(told(adapted))[1] and "25%" in next(told(adapted))


def test_a_model_that_an_index_may_use_is_never_replaced(work, index):
    with_ranks(work, s50=[1.0] * 80)
    model = adapt(index, work, MINUTES, Silent()).model
    before = (model / "model.safetensors").read_bytes()
    with pytest.raises(InputError, match="an index may use it"):
        adapt(index, work, 2 * MINUTES, Silent())
    assert (model / "model.safetensors").read_bytes() == before


def test_unfinished_work_of_other_minutes_is_kept(work, index):
    with pytest.raises(InputError, match=f"unfinished work of --minutes {MINUTES:g}"):
        adapt(index, work, 2 * MINUTES, Silent())
    assert (work / "training" / "checkpoint").is_dir()


def test_work_on_texts_that_have_changed_since_begins_anew_and_says_so(begun, index, tmp_path):
    shutil.copytree(begun, tmp_path / "out")
    change_state(tmp_path / "out", corpus="another")
    notes, display = [], StopAt("Measuring the time of a step")
    display.note = notes.append
    with pytest.raises(KeyboardInterrupt):
        adapt(index, tmp_path / "out", MINUTES, display)
    assert "has changed since the earlier work" in notes[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"seconds": None},
        {"ranks": []},
        {"ranks": {"0.3": [1.0]}},
        {"ranks": {"0.0": [1.0], "0.5": []}},
        {"steps": "x"},
        {"steps": 0},
        {"seconds": -1.0},
        {"chosen": 0.25},
        {"chosen": "x"},
    ],
)
def test_a_state_that_cannot_be_is_called_damaged(begun, index, tmp_path, changes):
    shutil.copytree(begun, tmp_path / "out")
    change_state(tmp_path / "out", **changes)
    with pytest.raises(InputError, match=r"adapting\.json is damaged"):
        adapt(index, tmp_path / "out", MINUTES, Silent())


def test_a_damaged_state_and_a_foreign_folder_are_refused(work, index, tmp_path):
    (work / "adapting.json").write_text("[")
    with pytest.raises(InputError, match=r"adapting\.json is damaged"):
        adapt(index, work, MINUTES, Silent())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    with pytest.raises(InputError, match="is not empty"):
        adapt(index, tmp_path / "mine", MINUTES, Silent())


@pytest.mark.slow
def test_after_kill_9_the_work_continues(index, begun, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(begun, out)
    code = (
        "import sys; from pathlib import Path; from cdesearch.store.index import Index;"
        "from cdesearch.progress import PlainLines; from trainer.adapting.adapt import adapt;"
        f"adapt(Index(Path(sys.argv[1])), Path(sys.argv[2]), {MINUTES}, PlainLines())"
    )
    command = [sys.executable, "-c", code, str(index.folder), str(out)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stderr:
            if line.startswith("Training"):
                process.kill()
    assert process.returncode == -signal.SIGKILL
    display = StopAt("Measuring")
    with pytest.raises(KeyboardInterrupt):
        adapt(index, out, MINUTES, display)
    assert display.stages[-2:] == ["Training", "Measuring"]
    assert [row["step"] for row in read_log(out / "training") if "loss" in row][-1] == STEPS


def test_too_few_minutes_are_refused_and_more_can_be_given(index, tmp_path):
    with pytest.raises(InputError, match=r"too few fit into the time. Give --minutes \d+ or more"):
        adapt(index, tmp_path / "out", 0.01, Silent())
    assert not (tmp_path / "out").exists()
    with pytest.raises(KeyboardInterrupt):
        adapt(index, tmp_path / "out", MINUTES, StopAt("Measuring the time of a step"))


def test_the_minutes_of_the_advice_are_enough_although_the_machine_is_half_as_fast_then(index, tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.adapting.adapt.training_pace", lambda *_: 100.0)
    notes, display = [], Silent()
    display.note = notes.append
    with pytest.raises(InputError, match="Give --minutes") as raised:
        adapt(index, tmp_path / "out", 1.0, display)
    assert notes[0].endswith("about 1 minute")
    minutes = float(raised.value.remedy.split()[2])
    monkeypatch.setattr("trainer.adapting.adapt.training_pace", lambda *_: 199.0)
    with pytest.raises(KeyboardInterrupt):
        adapt(index, tmp_path / "out", minutes, StopAt("Training"))
    assert json.loads((tmp_path / "out" / "adapting.json").read_text())["steps"] == STEPS


def test_the_time_that_is_used_is_stored_before_a_kill(index, begun, tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.adapting.clock.SAVE_SECONDS", 0.0)
    shutil.copytree(begun, tmp_path / "out")
    at_the_start = []

    def stored_seconds():
        return json.loads((tmp_path / "out" / "adapting.json").read_text())["seconds"]

    class Killing(Silent):
        def stage(self, name, total):
            steps = iter(range(2))
            if name == "Training":
                at_the_start.append(stored_seconds())

            def advance(_):
                if name == "Training" and next(steps, None) is None:
                    raise SystemError("nothing is stored when a process is killed")

            return advance

    with pytest.raises(SystemError):
        adapt(index, tmp_path / "out", MINUTES, Killing())
    assert stored_seconds() > at_the_start[0]


def test_an_index_with_too_little_to_learn_from_is_refused(index, tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.adapting.adapt.own_pairs", lambda *_: [])
    with pytest.raises(InputError, match="too few sentences and headings to learn from"):
        adapt(index, tmp_path / "out", MINUTES, Silent())
    assert not (tmp_path / "out").exists()


def test_the_time_of_a_step_of_training_is_measured(index, start, tmp_path):
    pairs = own_pairs(read_corpus(index, 80, 0).trained, 0)
    recipe = training_recipe(start, tmp_path / "mined", tmp_path / "out", 3, load_checkpoint(start))
    began = time.monotonic()
    assert 0 < training_pace(recipe, pairs) < time.monotonic() - began
