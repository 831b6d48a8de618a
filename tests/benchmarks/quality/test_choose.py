import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.quality.choose import PLAN, Variant, WeightedZ, choose, compare_variants, read_grid
from cdesearch.errors import InputError
from cdesearch.search.fusion import Candidates, EvidenceFusion

ONE, OTHER = Variant("evidence", 9.0, 1.2, 0.75), Variant("z by context", 0.5, 0.9, 0.4)


def test_the_gain_on_a_set_left_out_is_that_of_the_variant_that_is_best_on_the_other_sets():
    scores = np.array([[50.0, 52.0, 51.0], [40.0, 41.0, 44.0], [30.0, 33.0, 31.0]])  # baseline, ONE, OTHER
    found = {row.name: row for row in compare_variants([ONE, OTHER], scores, ["domains", "folders", "domains"])}
    assert found["the baseline"].value == 40
    assert found[str(ONE)].value == pytest.approx(2) and found[str(OTHER)].value == pytest.approx(2)
    assert found[str(ONE)].detail["kinds"] == {"domains": pytest.approx(2.5), "folders": 1}
    # Left out in turn: OTHER is better on sets 2 and 3 (37.5 to 37), ONE on 1 and 3, OTHER on 1 and 2.
    assert [one["fusion"] for one in found["gain on the set left out"].detail["chosen"]] == [
        "z by context",
        "evidence",
        "z by context",
    ]
    assert found["gain on the set left out"].value == pytest.approx((1 + 1 + 1) / 3)
    assert found["regret on the set left out"].value == pytest.approx((1 + 3 + 2) / 3)


def test_a_fixed_weight_adds_the_z_scores_of_words_to_those_of_the_context():
    null = np.linspace(-1.0, 1.0, 20)
    candidates = Candidates(np.array([0.5, 0.1]), np.array([np.nan, 4.0]), null)
    scores = WeightedZ(0.5).scores(candidates)
    np.testing.assert_allclose(scores, np.array([0.5, 0.1]) / null.std() + 0.5 * np.array([-1.0, 1.0]))
    by_candidates = WeightedZ(0.0, by_context=False).scores(candidates)
    np.testing.assert_allclose(by_candidates, [1.0, -1.0])


def test_the_weights_of_a_variant_are_those_of_its_fusion():
    assert ONE.make() == EvidenceFusion(text_weight=9.0)
    assert OTHER.make() == WeightedZ(0.5)
    null = np.linspace(-1.0, 1.0, 20)
    candidates = Candidates(np.array([0.5, 0.1, 0.3]), np.array([2.0, 9.0, 1.0]), null)
    evidence = EvidenceFusion(text_weight=18.0).evidence(candidates)
    ratio = EvidenceFusion(text_weight=9.0).evidence(candidates).text_weight / evidence.text_weight
    assert ratio == pytest.approx(0.5)


@pytest.mark.parametrize("text", ["", "[baseline]\nfusion = 'evidence'\n", "[[grid]]\nk1 = [1.0]\n", "x = ["])
def test_a_file_that_is_not_a_grid_is_refused(tmp_path, text):
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises(InputError, match="is not a grid"):
        read_grid(tmp_path / "grid.toml")


@pytest.mark.parametrize(("old", "new"), [('"z by candidates"', '"odd"'), ("weight = 9.0", 'weight = "much"')])
def test_an_unknown_fusion_or_a_constant_that_is_no_number_is_refused(tmp_path, old, new):
    (tmp_path / "grid.toml").write_text(PLAN.read_text().replace(old, new))
    with pytest.raises(InputError, match="is not a grid"):
        read_grid(tmp_path / "grid.toml")


def test_a_variant_names_what_it_changes():
    assert str(ONE) == "evidence, text weight 9, k1 1.2, b 0.75"
    assert str(replace(ONE, document_weight=0.0)) == f"{ONE}, document weight 0"


def test_one_set_alone_is_refused(tmp_path):
    with pytest.raises(InputError, match="no other set"):
        choose([tmp_path / "one.parquet"], folders=None)


@pytest.mark.slow
def test_document_context_is_a_variant(tmp_path, closed_checkpoint):
    rows = [
        {
            "doc_id": name,
            "title": name,
            "chunks": [f"it is {number} of the cat" for number in range(20)],
            "questions": [{"text": f"{name} {number}", "chunk": number} for number in range(20)],
        }
        for name in ("red", "blue", "green")
    ]
    files = [tmp_path / "colours.parquet", tmp_path / "two.parquet"]
    for file, some in zip(files, (rows, rows[:2]), strict=True):
        pq.write_table(pa.Table.from_pylist(some), file)
    choose(files, PLAN, 60, 100, 20, None, closed_checkpoint, tmp_path / "work", tmp_path)
    record = json.loads(next(tmp_path.glob("choose-fusion-*.json")).read_text())
    scores = {name: score for name, (score, _) in record["settings"]["scores"].items()}
    baseline, variants = read_grid(PLAN)
    assert set(scores) == {str(one) for one in (baseline, *variants)} and record["settings"]["sets"] == [
        "colours in chunks",
        "two in chunks",
    ]
    with_weight = {one.document_weight: scores[str(one)] for one in variants if one.document_weight is not None}
    assert len(set(with_weight.values())) > 1, "document context moves the vectors of chunks"


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
