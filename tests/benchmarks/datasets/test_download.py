import pytest

from benchmarks.datasets.dataset import fetched
from cdesearch.errors import SourceError


def test_a_set_is_looked_for_in_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "eval" / "mine").mkdir(parents=True)
    monkeypatch.setenv("CDESEARCH_DATA", str(tmp_path))
    assert fetched("eval/mine", tmp_path / "work") == tmp_path / "eval" / "mine"


def test_the_error_for_an_unknown_set_lists_what_can_be_downloaded(tmp_path):
    with pytest.raises(SourceError, match="scifact"):
        fetched("nowhere", tmp_path)
