"""What the texts, queries and vectors of a synthetic index are drawn from."""

import numpy as np
import pytest

from benchmarks.speed.synthetic import Material, grow, read_drawn, source_index, write_drawn


@pytest.mark.slow
def test_drawn_texts_and_vectors_are_read_as_they_were_written(corpus, tmp_path):
    source = source_index(corpus, tmp_path / "source")
    write_drawn(Material(source), tmp_path / "drawn", 30)
    ((texts, vectors),) = Material(source).draw(30)
    ((same_texts, same_vectors),) = read_drawn(tmp_path / "drawn")
    assert texts == same_texts and np.array_equal(vectors, same_vectors)
    assert grow(source, tmp_path / "grown", read_drawn(tmp_path / "drawn")).chunks.count_rows() == 30
