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


@pytest.mark.parametrize(
    ("figure", "out", "message"),
    [
        ("movement", "file", r"--out is .*file, which is not a folder"),
        ("contxt", "out", "no figure contxt"),
        ("foreign-context", "out", "compares data sets"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_measured(tmp_path, tiny_checkpoint, figure, out, message):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=message):
        analyse(figure, [tmp_path / "none"], tiny_checkpoint, tmp_path / "work", tmp_path / out)
