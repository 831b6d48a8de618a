"""The context head in training: the same function as in an index, what it learns, and the program that writes it."""

import shutil

import numpy as np
import pytest
import torch
from batches import write_rows
from conftest import random_head
from torch.nn import functional

from cdesearch.context.head import ContextHead
from cdesearch.encode.load import load_encoder
from cdesearch.models.config import ModelConfig
from trainer.head import Corpus, Step, drawn, judge, main, ndcg
from trainer.loss.heads import TrainedHead

WORDS = ["river", "moon", "stone", "bread", "engine", "cat", "dog", "light", "water", "seed"]


def unit(n, d, seed):
    return functional.normalize(torch.randn(n, d, generator=torch.Generator().manual_seed(seed)), dim=1)


def with_parameters(config):
    """A head of training with the parameters of a configuration."""
    head = TrainedHead()
    with torch.no_grad():
        for role in ("query", "document"):
            side, given = getattr(head, role), getattr(config, role)
            side.log_sharpness.fill_(given.log_sharpness)
            side.sink.fill_(given.sink)
            for layer, rows in ((side.hidden, given.hidden), (side.gates, given.gates)):
                layer.weight.copy_(torch.tensor(rows)[:, :-1])
                layer.bias.copy_(torch.tensor(rows)[:, -1])
    return head


@pytest.mark.parametrize("role", ["query", "document"])
@pytest.mark.parametrize("size", [3, 50])
def test_training_computes_the_head_of_an_index(role, size):
    context = unit(size, 16, 1)
    vectors = torch.cat([unit(20, 16, 2), context[:1]])
    head = with_parameters(random_head())
    expected = ContextHead(random_head()).apply(vectors.numpy(), context.numpy(), role)
    np.testing.assert_allclose(head(vectors, context, role).detach().numpy(), expected, atol=1e-5)
    stored = ContextHead(head.config()).apply(vectors.numpy(), context.numpy(), role)
    np.testing.assert_allclose(stored, expected, atol=1e-5)  # rounded to six digits


def test_a_new_head_and_no_share_of_a_head_change_nothing():
    vectors, context = unit(9, 16, 1), unit(30, 16, 2)
    for head in (TrainedHead(), with_parameters(random_head()).shared(0.0)):
        torch.testing.assert_close(head(vectors, context, "query"), vectors)
    whole, half = (with_parameters(random_head()).shared(share).config().query.gates for share in (1.0, 0.5))
    np.testing.assert_allclose(half, np.array(whole) / 2, atol=1e-6)


def corpus_with_a_common_part(n, seed):
    """Documents of groups with a strong common direction, which queries lack: the context shows what is common."""
    groups = 2 * unit(6, 24, seed)[torch.arange(n) % 6]
    own = unit(n, 24, seed + 1)
    queries = functional.normalize(own + 0.6 * unit(n, 24, seed + 2), dim=1)
    return Corpus(functional.normalize(own + groups, dim=1), queries, torch.arange(n))


def test_a_head_learns_to_use_the_context_of_new_corpora():
    corpora = {str(seed): corpus_with_a_common_part(120, 10 * seed) for seed in range(6)}
    held_out = [corpus_with_a_common_part(120, 1_000 + seed) for seed in range(3)]
    torch.manual_seed(0)
    random, step = np.random.default_rng(0), Step(0.05)
    optimizer = torch.optim.Adam(step.parameters(), lr=0.03)
    for _ in range(60):
        corpus = drawn(corpora, 64, random)
        loss = step(corpus, corpus.context(60, random))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    quality = judge(step.head, held_out, 60)
    assert quality.own > quality.without + 3
    assert quality.own > quality.foreign + 3


def test_the_measure_is_that_of_one_relevant_document():
    scores = torch.tensor([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1], [*([0.0] * 3)]])
    assert ndcg(scores, torch.tensor([0, 1, 2])) == pytest.approx((1 + 1 / np.log2(3) + 1) / 3)
    many = torch.arange(20.0).flip(0)[None]
    assert ndcg(many, torch.tensor([9])) == pytest.approx(1 / np.log2(11))
    assert ndcg(many, torch.tensor([10])) == 0.0


@pytest.fixture
def recipe(tmp_path, closed_checkpoint):
    random = np.random.default_rng(0)
    for name in ("one", "two", "three", "more"):
        texts = ([" ".join(random.choice(WORDS, n)) for n in (2, 9)] for _ in range(60))
        write_rows(tmp_path / f"{name}.jsonl", [{"query": query, "document": document} for query, document in texts])
    shutil.copytree(closed_checkpoint, tmp_path / "checkpoint")
    file = tmp_path / "head.toml"
    file.write_text(
        f"""
        [data]
        pairs = ["{tmp_path}/one.jsonl", "{tmp_path}/two.jsonl", "{tmp_path}/three.jsonl", "{tmp_path}/more.jsonl"]
        held_out_domains = ["three", "more"]
        [model]
        start = "{closed_checkpoint}"
        [batches]
        size = 16
        context_size = 20
        [learning]
        steps = 4
        rate = 0.01
        [run]
        out = "{tmp_path}/run"
        watch_every = 2
        """
    )
    return file


def test_the_program_writes_a_head_that_the_checkpoint_is_loaded_with(recipe, tmp_path, capsys):
    checkpoint = tmp_path / "checkpoint"
    before = ModelConfig.load(checkpoint)
    assert main([str(checkpoint), str(recipe)]) == 0
    written = capsys.readouterr()
    assert "with a foreign one" in written.out
    assert "Step 4: loss" in written.err
    config = ModelConfig.load(checkpoint)
    assert config.context_head not in (None, before.context_head)
    assert load_encoder(checkpoint).head is not None
    assert len(config.typical_mean) == config.backbone.dimension and 0 < np.linalg.norm(config.typical_mean) < 1
    assert main([str(checkpoint), str(recipe)]) == 0  # from the stored vectors
    again = ModelConfig.load(checkpoint)
    assert (again.context_head, again.typical_mean) == (config.context_head, config.typical_mean)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["data.held_out_domains", '["four"]'], "names four"),
        (["data.held_out_domains", '["three"]'], "must name two or more domains"),
        (["learning.steps", "0"], "how many steps"),
    ],
)
def test_a_recipe_without_a_held_out_domain_is_refused(recipe, tmp_path, capsys, change, message):
    assert main([str(tmp_path / "checkpoint"), str(recipe), "--set", "=".join(change)]) == 2
    assert message in capsys.readouterr().err
