import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.quality.lens import COMPARED, Space, lens
from cdesearch.errors import InputError


def test_a_part_keeps_the_statistics_and_loses_the_other_queries_and_texts():
    random = np.random.default_rng(0)
    space = Space(*random.random((2, 3, 8)), random.random((3, 20)))
    part = space.part(slice(1, 3), slice(4, 8))
    (_, first), (rows, second) = part.among()
    assert rows.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(second.dense, space.cosines[2, 4:])
    np.testing.assert_array_equal(second.null, space.null[2])
    assert first.null is not second.null


def test_only_chosen_texts_are_scored_again_and_their_words_count_as_in_a_search():
    words = np.zeros((1, 300))
    words[0, :150] = np.arange(150, 0, -1)  # a search by words reads the first hundred
    space = Space(np.zeros((1, 300)), words, np.zeros((1, 20)))
    ((rows, some),) = space.among([np.array([0, 99, 100, 200])])
    assert rows.tolist() == [0, 99, 100, 200]
    np.testing.assert_array_equal(some.text, [150, 51, np.nan, np.nan])


def test_one_domain_is_no_mixture(tmp_path):
    with pytest.raises(InputError, match="no mixture"):
        lens([tmp_path / "one.parquet"])


@pytest.mark.slow
def test_a_filter_finds_what_the_same_texts_of_another_domain_hide(tmp_path, closed_checkpoint):
    numbers = [str(100 + number) for number in range(40)]
    for name in ("one", "two"):
        pairs = {
            "query": [f"is it {number}" for number in numbers],
            "document": [f"{number} {name}" for number in numbers],
        }
        pq.write_table(pa.table(pairs), tmp_path / f"{name}.parquet")
    files = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    lens(files, 40, 100, 20, closed_checkpoint, tmp_path / "work", tmp_path)
    (file,) = tmp_path.glob("lens-one-*.json")
    figures = {one["name"]: one for one in json.loads(file.read_text())["figures"]}
    assert figures["filter"]["value"] > figures["whole"]["value"]
    difference = figures["filter - whole"]
    assert difference["value"] == pytest.approx(figures["filter"]["value"] - figures["whole"]["value"])
    assert set(difference["detail"]["domains"]) == {"one", "two"}
    assert {f"{one} - {other}" for one, other in COMPARED} < set(figures)
