import json

from benchmarks.speed.operations import forward_operations
from benchmarks.speed.train_rate import rate_measurements
from cdesearch.models.config import BackboneConfig


def test_a_text_is_counted_product_by_product():
    shape = BackboneConfig(vocabulary=9, dimension=4, n_layers=2, n_heads=2, inner=8, n_positions=8)
    projections, scores_and_mix, feed_forward = 4 * 3 * 4 * 4, 2 * 3 * 3 * 4, 2 * 3 * 4 * 8
    assert forward_operations(shape, [3]) == 2 * 2 * (projections + scores_and_mix + feed_forward)


def test_steps_in_bf16_run_with_and_without_context(tiny_checkpoint, tmp_path):
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps({"query": f"word {n}", "document": f"text {n}"}) + "\n" for n in range(8)))
    measurements = rate_measurements(pairs, tiny_checkpoint, size=8, context_size=4, micro_batch=4, rounds=1)
    assert [measurement.unit for measurement in measurements] == ["pairs/s", "pairs/s", "GFLOP/s", "%"]
    assert all(measurement.value > 0 for measurement in measurements)
