"""What another program, or a crash, leaves in the cache of a model is never used, and never an error."""

import pytest

from cdesearch.models.export_folder import GRAPH, SIZE, SPEED, find_export, read_speed, write_size, write_speed

DEEP = "[" * 100_000


def test_a_recorded_speed_is_read_again(tmp_path):
    write_speed(tmp_path, 12.34)
    assert read_speed(tmp_path) == 12.3


@pytest.mark.parametrize("number", ["NaN", "-1", '"fast"', DEEP])
def test_a_speed_that_is_none_is_not_shown(tmp_path, number):
    (tmp_path / SPEED).write_text(f'{{"texts_per_second": {number}}}')
    assert read_speed(tmp_path) is None


@pytest.mark.parametrize("record", [DEEP, "{}"])
def test_an_export_with_an_unreadable_size_is_not_used(tmp_path, record):
    (tmp_path / GRAPH).write_bytes(b"a graph")
    write_size(tmp_path)
    assert find_export(tmp_path) == tmp_path
    (tmp_path / SIZE).write_text(record)
    assert find_export(tmp_path) is None
