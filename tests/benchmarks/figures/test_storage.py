import json

import numpy as np
import pytest
from beir_folder import write_set

from benchmarks.figures.command import analyse
from benchmarks.figures.storage import FORMS, stored_as
from cdesearch.context.vectors import to_unit


def test_every_precision_has_a_point_at_its_size_and_a_row_with_its_name(tmp_path, tiny_checkpoint, capsys):
    analyse("storage", [write_set(tmp_path / "set")], tiny_checkpoint, None, None, tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    series = json.loads(file.read_text())["figure"]["series"]
    table = capsys.readouterr().out
    assert all(f"plain, 16 dimensions, {form}" in table for form in FORMS)
    for name, points in series.items():
        width = int(name.split(", ")[1].split()[0])
        sizes = [1e6 / per_megabyte for per_megabyte, _ in points]
        assert sizes == pytest.approx([4 * width, 2 * width, width + 4, width / 8])
    assert {name.split(", ")[0] for name in series} == {"plain", "contextual"}


def test_stored_vectors_are_as_far_from_the_originals_as_their_precision_allows():
    vectors = to_unit(np.random.default_rng(0).normal(size=(50, 32)).astype(np.float32))
    cosines = {
        form: float((stored_as(vectors, vectors, form)[1] * vectors).sum(axis=1).min())
        for form in ("float32", "float16", "int8", "binary documents")
    }
    assert cosines["float32"] == pytest.approx(1, abs=1e-6)
    assert cosines["float16"] == pytest.approx(1, abs=1e-3)
    assert 0.999 < cosines["int8"] < 1 - 1e-6
    assert 0.6 < cosines["binary documents"] < 0.95
