import json

import pytest
from beir_folder import write_set

from benchmarks.figures import analyse
from cdesearch.errors import InputError


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["context-size", "context-length", "foreign-context", "movement", "idf-divergence"])
def test_a_figure_is_drawn_from_any_model(figure, tmp_path, tiny_checkpoint):
    data = [write_set(tmp_path / name) for name in ("one", "two")]
    analyse(figure, data, tiny_checkpoint, tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    series = json.loads(file.read_text())["figure"]["series"]
    assert all(len(points) for points in series.values()) and file.with_suffix(".svg").exists()


def test_a_file_as_out_is_refused_before_anything_is_measured(tmp_path, tiny_checkpoint):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match=r"--out is .*out, which is not a folder"):
        analyse("movement", [tmp_path / "none"], tiny_checkpoint, tmp_path / "work", tmp_path / "out")


def test_an_unknown_figure_is_refused(tmp_path, tiny_checkpoint):
    with pytest.raises(InputError, match="no figure contxt"):
        analyse("contxt", [tmp_path], tiny_checkpoint, tmp_path, tmp_path)


def test_a_figure_that_compares_data_sets_refuses_one(tmp_path, tiny_checkpoint):
    with pytest.raises(InputError, match="compares data sets"):
        analyse("foreign-context", [tmp_path], tiny_checkpoint, tmp_path, tmp_path)
