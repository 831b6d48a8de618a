import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.quality.choose import PLAN, Variant, choose, compare_variants, read_grid
from cdesearch.errors import InputError

ONE, OTHER = Variant(9.0, 1.2, 0.75), Variant(0.5, 0.9, 0.4)


def test_the_gain_on_a_set_left_out_is_that_of_the_variant_that_is_best_on_the_other_sets():
    scores = np.array([[50.0, 52.0, 51.0], [40.0, 41.0, 44.0], [30.0, 33.0, 31.0]])  # baseline, ONE, OTHER
    found = {row.name: row for row in compare_variants([ONE, OTHER], scores, ["domains", "folders", "domains"])}
    assert found["the baseline"].value == 40
    assert found[str(ONE)].value == pytest.approx(2) and found[str(OTHER)].value == pytest.approx(2)
    assert found[str(ONE)].detail["kinds"] == {"domains": pytest.approx(2.5), "folders": 1}
    # Left out in turn: OTHER is better on sets 2 and 3 (37.5 to 37), ONE on 1 and 3, OTHER on 1 and 2.
    assert [one["weight"] for one in found["gain on the set left out"].detail["chosen"]] == [0.5, 9.0, 0.5]
    assert found["gain on the set left out"].value == pytest.approx((1 + 1 + 1) / 3)
    assert found["regret on the set left out"].value == pytest.approx((1 + 3 + 2) / 3)


@pytest.mark.parametrize("text", ["", "x = [", PLAN.read_text().replace("weight = 9.0", 'weight = "much"')])
def test_a_file_that_is_not_a_grid_is_refused(tmp_path, text):
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises(InputError, match="is not a grid"):
        read_grid(tmp_path / "grid.toml")


def test_one_set_alone_is_refused(tmp_path):
    with pytest.raises(InputError, match="no other set"):
        choose([tmp_path / "one.parquet"], folders=None)


@pytest.mark.slow
def test_variants_are_compared_on_every_domain(tmp_path, closed_checkpoint):
    for name in ("one", "two"):
        texts = [f"{name} {number + 100} of the cat" for number in range(60)]
        pairs = {
            "query": [f"is it {number + 100}" if number else "is it" for number in range(60)],
            "document": texts,
            "group": ["a"] * 60,
        }
        pq.write_table(pa.table(pairs), tmp_path / f"{name}.parquet")
    files = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    choose(files, PLAN, 60, 100, 20, None, closed_checkpoint, tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("choose-fusion-*.json")
    record = json.loads(file.read_text())
    assert record["settings"]["sets"] == ["one", "two"]
    baseline, variants = read_grid(PLAN)
    assert baseline in variants, "so that the gain of the baseline over itself is zero"
    gains = {one["name"]: one["value"] for one in record["figures"]}
    assert gains[str(baseline)] == 0 and len(gains) == len(variants) + 3
    assert gains["the baseline"] > 90, (
        "the number of each document is in its query, and one query is of stop words alone"
    )
