"""What another program, or a crash, leaves in the cache of a model is never used, and never an error."""

import pytest

from cdesearch.models.export_folder import GRAPH, SIZE, find_export, write_size

DEEP = "[" * 100_000


@pytest.mark.parametrize("record", [DEEP, "{}"])
def test_an_export_with_an_unreadable_size_is_not_used(tmp_path, record):
    (tmp_path / GRAPH).write_bytes(b"a graph")
    write_size(tmp_path)
    assert find_export(tmp_path) == tmp_path
    (tmp_path / SIZE).write_text(record)
    assert find_export(tmp_path) is None
