"""A preparation that is stopped goes on where it was, and has the same result."""

import json
from collections import Counter
from contextlib import suppress
from io import BytesIO
from unittest.mock import Mock

import numpy as np
import pytest
from conftest import make_tokenizer

from cdesearch.encode.encoder import Encoder
from cdesearch.errors import StorageError
from cdesearch.progress import Silent
from trainer.data import interruptible
from trainer.data.batches import cluster, token_store
from trainer.data.material import prepare_material
from trainer.data.pairs import domains
from trainer.data.pairs.leaks import Leaks
from trainer.data.surrogate import scores
from trainer.recipe import load_recipe
from trainer.run.time_limit import LimitedDisplay, OutOfTime, TimeLimit
from trainer.starting import starting_model

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone"]


@pytest.fixture
def recipe_file(tmp_path, tiny_checkpoint, monkeypatch):
    """Two domains with leaks and hard negatives, and blocks of few texts."""
    random = np.random.default_rng(0)
    for module, name in ((token_store, "BLOCK"), (domains, "BLOCK"), (scores, "SHARD"), (interruptible, "EVERY")):
        monkeypatch.setattr(module, name, 16)
    texts = [" ".join(random.choice(WORDS, size=6)) for _ in range(80)]
    for name, part in (("one", texts[:48]), ("two", texts[48:])):
        rows = [
            {"query": f"{text[:9]} {n}", "document": text, "negatives": texts[n : n + 2]} for n, text in enumerate(part)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "beir").mkdir()
    leaks = [{"_id": str(n), "text": text} for n, text in enumerate(texts[::9])]
    (tmp_path / "beir" / "corpus.jsonl").write_text("\n".join(map(json.dumps, leaks)))
    (tmp_path / "beir" / "queries.jsonl").write_text('{"_id": "q", "text": "where"}')
    (tmp_path / "recipe.toml").write_text(
        f"""
        [data]
        pairs = ["{tmp_path}/one.jsonl", "{tmp_path}/two.jsonl"]
        keep_out = ["{tmp_path}/beir"]
        [model]
        start = "{tiny_checkpoint}"
        [batches]
        size = 8
        cluster_size = 8
        hard_negatives = 1
        filter = "fused"
        [run]
        out = "{tmp_path}/out"
        """
    )
    return tmp_path / "recipe.toml"


class AfterChecks(TimeLimit):
    """A limit that allows `n` checks."""

    def __init__(self, n):
        self.left = n

    def check(self):
        self.left -= 1
        if self.left < 0:
            raise OutOfTime


def prepared(recipe_file, work, n_checks):
    recipe = load_recipe(recipe_file, {"run.work": str(work)})
    display = LimitedDisplay(Silent(), AfterChecks(n_checks))
    stream = prepare_material(recipe, starting_model(recipe.model), make_tokenizer(), display).stream
    return [stream.batch(step) for step in range(stream.steps_per_epoch)]


@pytest.fixture
def work_done(monkeypatch):
    """How often each costly function has returned, by name."""
    done = Counter()

    def count(owner, name):
        original = getattr(owner, name)

        def counted(*given):
            found = original(*given)
            done[name] += 1
            return found

        monkeypatch.setattr(owner, name, counted)

    for owner, name in ((Leaks, "in_texts"), (token_store, "_tokenized"), (Encoder, "_checked"), (cluster, "_try")):
        count(owner, name)
    return done


@pytest.mark.parametrize("has_libraries", [True, False])
def test_a_preparation_in_slots_repeats_nothing_and_has_the_result_of_one_call(
    recipe_file, tmp_path, monkeypatch, work_done, has_libraries
):
    if not has_libraries:
        monkeypatch.setattr(cluster, "find_spec", lambda _: None)
    expected = prepared(recipe_file, tmp_path / "whole", 10**6)
    of_one_call = dict(work_done)
    work_done.clear()
    n_calls, found = 0, None
    while found is None:
        n_calls += 1
        with suppress(OutOfTime):
            found = prepared(recipe_file, tmp_path / "slots", 10 * n_calls)  # what is stored takes checks, too
    assert n_calls > 3 and dict(work_done) == of_one_call
    assert not list((tmp_path / "slots").rglob("*.parts")) and not list((tmp_path / "slots").rglob("*unfinished"))
    for one, other in zip(found, expected, strict=True):
        assert one.documents.ids.tolist() == other.documents.ids.tolist()
        assert one.excluded.tolist() == other.excluded.tolist()


def test_a_kill_before_parts_are_removed_leaves_none(recipe_file, tmp_path, monkeypatch):
    for module in (token_store, domains, cluster):
        with monkeypatch.context() as patch:
            patch.setattr(module, "remove", Mock(side_effect=KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                prepared(recipe_file, tmp_path / "work", 10**6)
    assert list((tmp_path / "work").rglob("*.parts"))
    prepared(recipe_file, tmp_path / "work", 10**6)
    assert not list((tmp_path / "work").rglob("*.parts"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "n_checks"), [("one-*.parts", 1), ("tokens/*.parts", 12), ("clusters/*.parts", 6), ("words/*.npz", 30)]
)
def test_a_part_that_is_damaged_or_of_other_data_is_named(recipe_file, tmp_path, parts, n_checks):
    work = tmp_path / "work"
    while not list(work.glob(parts)):
        with pytest.raises(OutOfTime):
            prepared(recipe_file, work, n_checks := n_checks + 1)
    found = next(work.glob(parts))
    part = found if found.is_file() else next(found.iterdir())
    arrays = dict(np.load(part))
    sound = part.read_bytes()
    for content in (sound[:-40], sound[:200] + b"flip" + sound[204:], archive(one=np.arange(3)), shortened(arrays)):
        part.write_bytes(content)
        with pytest.raises(StorageError, match=r"is damaged\. Copy it again, or delete it"):
            prepared(recipe_file, work, 10**6)
    part.unlink()
    prepared(recipe_file, work, 10**6)


def archive(**arrays):
    np.savez(content := BytesIO(), **arrays)
    return content.getvalue()


def shortened(arrays):
    return archive(**{name: array[:1] if array.ndim else array for name, array in arrays.items()})
