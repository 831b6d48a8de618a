import os

import numpy as np
import pytest

from cdesearch.errors import StorageError
from trainer.data import store
from trainer.data.store import Rows, digest_of, encoded, stored, stored_in_blocks


def test_arrays_are_made_once_and_come_from_the_disk_afterwards(tmp_path):
    made = []

    def make():
        made.append(1)
        return {"one": np.arange(3), "none": np.empty(0, np.uint16), "words": np.array(["a", "bc"])}

    for _ in range(2):
        found = stored(tmp_path / "folder", make)
        assert found["one"].tolist() == [0, 1, 2] and found["words"].tolist() == ["a", "bc"]
        assert found["none"].dtype == np.uint16 and len(found["none"]) == 0
    assert made == [1]


def test_a_block_that_is_stored_is_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "BLOCK", 4)
    made = []

    def make(start, stop):
        made.append(start)
        if len(made) == 2:
            raise KeyboardInterrupt
        return {"rows": np.arange(start, stop)}

    with pytest.raises(KeyboardInterrupt):
        stored_in_blocks(tmp_path / "rows", 10, make)
    assert stored_in_blocks(tmp_path / "rows", 10, make)["rows"].tolist() == list(range(10))
    assert made == [0, 4, 4, 8] and [entry.name for entry in tmp_path.iterdir()] == ["rows"]
    assert len(stored_in_blocks(tmp_path / "none", 0, make)["rows"]) == 0


@pytest.mark.parametrize("length", [0, 10, 200])
def test_an_array_that_is_cut_off_is_named(tmp_path, length):
    stored(tmp_path / "folder", lambda: {"one": np.arange(99)})
    os.truncate(tmp_path / "folder" / "one.npy", length)
    with pytest.raises(StorageError, match=r"folder is damaged\. Delete it and run the same command again"):
        stored(tmp_path / "folder", dict)


def test_texts_are_stored_end_to_end():
    texts = ["the cat", "", "\N{SNOWMAN} and \ud800"]
    rows = Rows.of(*encoded(texts))
    assert len(rows) == 3 and rows.texts([2, 1, 0]) == ["\N{SNOWMAN} and ?", "", "the cat"]


def test_texts_that_are_divided_elsewhere_have_another_digest():
    parts = (["a", "bc"], ["ab", "c"], ["abc"], ["a", "b", "c"])
    assert len({digest_of("0", part) for part in parts} | {digest_of("1", ["a", "bc"])}) == 5
