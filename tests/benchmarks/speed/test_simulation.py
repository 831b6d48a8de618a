import numpy as np
import pytest

from benchmarks.speed.simulation import Cluster, Shard, answer, commit, simulation
from cdesearch.errors import InputError


def test_one_core_waits_as_long_as_the_formula_of_pollaczek_and_khinchine_says():
    shard, rate = Shard(p50=40, p95=80), 12.0
    took, share = answer(Cluster(1, 1, 1, 0, 0), shard, rate, 200_000)
    sigma = np.log(2) / 1.645
    mean, square = 40 * np.exp(sigma**2 / 2), 40**2 * np.exp(2 * sigma**2)
    load = rate / 1000 * mean
    assert share == pytest.approx(load, rel=0.02)
    assert took.mean() == pytest.approx(mean + rate / 1000 * square / (2 * (1 - load)), rel=0.05)


def test_without_other_queries_an_answer_waits_for_the_slowest_of_all_shards():
    shard = Shard(p50=40, p95=80)
    took, _ = answer(Cluster(5, 4, 4, 3, 7), shard, 0.001, 4000)
    slowest = shard.draw(4000 * 20, np.random.default_rng(1)).reshape(4000, 20).max(axis=1)
    assert np.median(took) == pytest.approx(np.median(slowest) + 10, rel=0.03)


def test_more_cores_than_shards_change_nothing_for_single_queries():
    few, _ = answer(Cluster(2, 4, 4, 0, 0), Shard(10, 20), 0.001, 500)
    many, _ = answer(Cluster(2, 64, 4, 0, 0), Shard(10, 20), 0.001, 500)
    assert np.array_equal(few, many)


def test_a_queue_that_grows_is_a_share_above_one():
    _, share = answer(Cluster(1, 1, 2, 0, 0), Shard(40, 80), 20, 2000)
    assert share > 1


def test_rare_updates_are_repeated_as_often_as_two_of_them_overlap():
    commits, repeated, waited = commit(update_s=60, per_hour=2)
    assert commits == pytest.approx(2, rel=0.05)
    assert repeated == pytest.approx(60 * 2 / 3600, rel=0.15)  # to the first order: the chance of a start meanwhile
    assert min(waited) == pytest.approx(60)


def test_one_writer_at_a_time_bounds_the_commits():
    commits, repeated, _ = commit(update_s=60, per_hour=600, hours=20)
    assert commits <= 60.5
    assert repeated > 0.5


@pytest.mark.parametrize("shard_ms", ["240", "490,240", "1,2,3", "x,y"])
def test_the_milliseconds_of_a_shard_are_two_numbers_of_which_the_second_is_larger(shard_ms):
    with pytest.raises(InputError, match="--shard-ms"):
        simulation(shard_ms)
