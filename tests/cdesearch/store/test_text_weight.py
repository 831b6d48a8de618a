import pytest

from cdesearch.errors import IndexDamagedError
from cdesearch.store.layout import MARK, MARKER, TUNING
from cdesearch.store.text_weight import read_text_weight, write_text_weight


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"text_weight": true}', '{"text_weight": 0}', '{"text_weight": NaN}']
)
def test_a_file_without_a_weight_is_reported_with_the_command_that_removes_it(tmp_path, text):
    (tmp_path / MARKER).write_text(MARK)
    (tmp_path / TUNING).write_text(text)
    with pytest.raises(IndexDamagedError, match="tune --reset"):
        read_text_weight(tmp_path)
    write_text_weight(tmp_path, None)
    assert read_text_weight(tmp_path) is None
    write_text_weight(tmp_path, 4.5)
    assert read_text_weight(tmp_path) == 4.5
