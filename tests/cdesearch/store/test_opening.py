import gc
import sys

import pytest

from cdesearch.store.opening import RegularFile, open_regular


def test_a_file_that_cannot_be_opened_is_closed_without_a_complaint(tmp_path, monkeypatch):
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "missing")
    RegularFile.__new__(RegularFile).close()  # as Python does; it hides errors of it before 3.13
    gc.collect()
    assert complaints == []
