import os

import pytest

from cdesearch.errors import IndexDamagedError
from cdesearch.store.vocabulary import VOCABULARY, read_vocabulary, write_vocabulary
from cdesearch.words.compounds import Vocabulary


def test_a_vocabulary_is_read_as_it_was_written(tmp_path):
    assert read_vocabulary(tmp_path) is None
    written = Vocabulary(("größe", "datei", "verzeichnis"), 2)
    write_vocabulary(written, tmp_path / VOCABULARY)
    assert read_vocabulary(tmp_path) == written


def test_writing_does_not_change_the_vocabulary_of_the_last_generation(tmp_path):
    last = tmp_path / "last"
    write_vocabulary(Vocabulary(("eins",), 0), last)
    os.link(last, tmp_path / VOCABULARY)
    content = last.read_bytes()
    write_vocabulary(Vocabulary(("zwei",), 0), tmp_path / VOCABULARY)
    assert last.read_bytes() == content != (tmp_path / VOCABULARY).read_bytes()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"frequent": true, "words": "a"}', '{"frequent": 0}'])
def test_a_damaged_vocabulary_is_refused(tmp_path, content):
    (tmp_path / VOCABULARY).write_text(content)
    with pytest.raises(IndexDamagedError, match="does not hold a vocabulary"):
        read_vocabulary(tmp_path)
