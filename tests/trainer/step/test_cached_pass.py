import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from batches import make_batch
from spans import DEVICE, DIMENSION, Spans

import trainer
from trainer.step import cached_pass
from trainer.step.cached_pass import CachedPass, Passing

TESTS = Path(__file__).parents[2]


def assert_same(one, other):
    assert one[0] == pytest.approx(other[0], abs=1e-5)
    used = {name: gradient for name, gradient in other[1].items() if name in one[1] or gradient.any()}
    assert one[1].keys() == used.keys()
    for name, gradient in one[1].items():
        torch.testing.assert_close(gradient, used[name], atol=1e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize("n_kept", [0, 1, 64])
@pytest.mark.parametrize(("micro_batch", "dropout"), [(1, 0.0), (5, 0.3), (64, 0.3)])
def test_vectors_and_a_local_loss_have_the_full_graphs_gradient(micro_batch, dropout, n_kept):
    results = []
    for run in (lambda spans: spans.full_graph(micro_batch), lambda spans: spans.cached(micro_batch, n_kept)):
        spans = Spans(dropout)
        torch.manual_seed(5)
        results.append(run(spans))
    assert_same(*results)


@pytest.mark.parametrize("n_kept", [0, 1, 64])
def test_the_local_loss_of_a_text_is_computed_once(n_kept):
    spans = Spans()
    spans.cached(5, n_kept)
    assert sorted(spans.decoded) == [2, 5, 5]


@pytest.mark.slow
def test_two_processes_compute_the_gradient_of_one(tmp_path):
    paths = [TESTS, TESTS / "trainer", Path(trainer.__file__).parents[1]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    words = [tmp_path / "store", tmp_path / "out"]
    program = TESTS / "trainer" / "spans.py"
    processes = [subprocess.Popen([sys.executable, program, str(rank), *words], env=environment) for rank in range(2)]
    assert [process.wait(240) for process in processes] == [0, 0]
    alone = Spans().cached(4)
    for rank in range(2):
        assert_same(alone, torch.load(tmp_path / f"out.{rank}"))


def test_a_process_gives_the_network_the_rows_of_its_texts_in_the_whole_batch(monkeypatch):
    """The process has the last 8 of 12 texts."""
    monkeypatch.setattr(cached_pass, "rows_of_process", lambda n: slice(4, n))
    monkeypatch.setattr(cached_pass, "gather", lambda vectors, _: vectors)
    learned, rows = torch.ones(DIMENSION, requires_grad=True), []

    def network(text, places):
        rows.append(places)
        return learned * torch.ones(len(places), 1)

    made = CachedPass(network, make_batch().queries, Passing(DEVICE, 3, (DIMENSION,), n_kept=0))
    assert made.vectors.shape == (8, DIMENSION)
    assert made.replay(torch.ones(12, DIMENSION)) == 0, "without a local loss"
    for part in rows[:3], rows[3:]:
        assert sorted(torch.cat(part).tolist()) == list(range(4, 12))
    assert learned.grad.tolist() == [8.0] * DIMENSION
