import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainer.data.batches.cluster import Clusters, pack
from trainer.data.material import _split
from trainer.data.pairs.domains import prepare
from trainer.data.store import random_stream
from trainer.recipe import check_recipe

purposes = st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "a 1"]), st.lists(st.integers(0, 12), max_size=3))


@given(st.lists(purposes, min_size=2, max_size=8, unique_by=repr))
def test_every_purpose_has_its_own_reproducible_stream(given_purposes):
    drawn = [random_stream(seed, name, *numbers).random(4).tolist() for seed, name, numbers in given_purposes]
    again = [random_stream(seed, name, *numbers).random(4).tolist() for seed, name, numbers in given_purposes]
    assert drawn == again and len(set(map(tuple, drawn))) == len(drawn)


def test_no_two_draws_of_a_run_begin_with_the_same_random_state(tmp_path, monkeypatch):
    """The held-out pairs, the batches of every epoch and the order of every domain's pairs."""
    rows = [{"query": f"{n}", "document": f"{n}"} for n in range(40)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (domain,) = prepare([tmp_path / "a.jsonl"], tmp_path / "work")
    domains = {name: Clusters(np.repeat(np.arange(4), 10), np.eye(4, dtype=np.float32)) for name in ("a", "b")}
    states = []
    make = np.random.default_rng

    def recorded(seed):
        states.append(str(make(seed).bit_generator.state))
        return make(seed)

    monkeypatch.setattr(np.random, "default_rng", recorded)
    values = {"data": {"pairs": ["p"], "held_out": 0.5}, "model": {"start": "s"}, "run": {"out": "o"}}
    _split({"a": domain}, check_recipe(values, "r.toml"))
    for epoch in range(15):
        pack(domains, 8, 0, epoch)
    assert len(states) == 1 + 15 * (2 + 1) and len(set(states)) == len(states)
