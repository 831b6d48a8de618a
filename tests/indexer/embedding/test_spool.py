import tempfile
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
from chunk_rows import rows_of
from hypothesis import given
from hypothesis import strategies as st

from indexer.embedding import spool as module
from indexer.embedding.spool import Spool


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 7), st.sets(st.integers(0, 5)))
def test_windows_hold_every_chunk_of_a_readable_file_once_in_order(sizes, window, unreadable):
    files = [
        rows_of([(f"{n}.md", f"{n}.md", f"text {n} {row}") for row in range(size)]) for n, size in enumerate(sizes)
    ]
    with tempfile.TemporaryDirectory() as folder, patch.object(module, "WINDOW", window):
        spool = Spool(Path(folder) / "spool.arrow")
        for rows in files:
            spool.add(rows)
        for number in unreadable:
            spool.drop(f"{number}.md")
        spool.close()
        found = list(spool.windows())
        again = list(spool.windows(["text"]))
        assert spool.count() == sum(size for number, size in enumerate(sizes) if number not in unreadable)
    wanted = [
        row | {"key": row["content_hash"]}
        for number, rows in enumerate(files)
        if number not in unreadable
        for row in rows.to_pylist()
    ]
    assert [row for rows in found for row in rows.to_pylist()] == wanted
    assert all(rows.num_rows <= window for rows in found) and len(found) == -(-sum(sizes) // window)
    assert [rows["text"] for rows in found] == [pa.array(rows["text"]) for rows in again]
