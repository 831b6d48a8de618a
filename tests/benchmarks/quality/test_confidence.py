import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.quality.confidence import area_under_roc, calibration_error, confidence

ANIMALS = ("cat", "dog", "horse", "cow", "hen", "goose", "sheep", "goat", "pig", "bee")
METALS = ("iron", "gold", "tin", "lead", "zinc", "silver", "copper", "nickel", "cobalt", "mercury")


def test_the_area_under_the_curve_is_the_share_of_pairs_in_the_right_order():
    positive, negative = np.array([3.0, 1.0, 2.0]), np.array([1.0, 0.0])
    pairs = [1.0 if p > n else 0.5 if p == n else 0.0 for p in positive for n in negative]
    assert area_under_roc(positive, negative) == pytest.approx(np.mean(pairs))


def test_the_calibration_error_is_the_weighted_difference_of_prediction_and_truth():
    predicted, true = np.array([0.12, 0.18, 0.95, 1.0]), np.array([False, True, True, True])
    weights = np.array([1.0, 3.0, 2.0, 2.0])
    # The first bin has a mean of .165 and a share of .75, and the last one .975 and 1. Both have half of the weight.
    assert calibration_error(predicted, true, weights) == pytest.approx((0.75 - 0.165 + 0.025) / 2)


@pytest.mark.slow
def test_questions_of_each_kind_are_measured(tmp_path):
    for name, words in (("animals", ANIMALS), ("metals", METALS)):
        texts = [f"The {word} is the {number} thing on the list of {name}." for number, word in enumerate(words * 4)]
        pairs = {"query": [f"{text.split()[1]} {text.split()[4]}" for text in texts], "document": texts}
        pq.write_table(pa.table(pairs | {"group": ["a"] * len(texts)}), tmp_path / f"{name}.parquet")
    files = [tmp_path / "animals.parquet", tmp_path / "metals.parquet"]
    confidence(files, 40, 100, 8, "hybrid", tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    figures = {one["name"]: one["value"] for one in json.loads(file.read_text())["figures"]}
    assert figures["animals: AUROC of the best confidence, own and foreign"] > 0.9
    assert 0 <= figures["all: calibration error of all hits"] < 0.5
