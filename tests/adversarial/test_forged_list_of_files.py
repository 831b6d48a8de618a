"""A list of files, files.parquet of a generation, whose footer or page headers lie."""

from contextlib import suppress
from dataclasses import asdict

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile_files import lies
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import data, integers
from parquet_footer import UNPACKED, column_of, with_footer

from cdesearch.errors import IndexDamagedError
from cdesearch.store import file_account
from cdesearch.store.file_account import SCHEMA, FileRecord, read_files


def forge_list(folder, change, reason="x", **options):
    """A list of 100 files, with `change` applied to the bytes of its file."""
    rows = [FileRecord(f"p{number}", "skipped", reason, 1, 1, "x") for number in range(100)]
    file = folder / "files.parquet"
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema=SCHEMA), file, **options)
    file.write_bytes(change(file.read_bytes()))


def test_a_page_larger_than_the_footer_states_is_not_unpacked(tmp_path, monkeypatch):
    """Otherwise a list of 26 kB takes 3 GB of memory."""
    monkeypatch.setattr(file_account, "MAX_BYTES", 1_000_000)

    def belittle(footer):
        column_of(footer, 2)[UNPACKED][1] = 100

    options = {"compression": "zstd", "write_statistics": False}
    forge_list(tmp_path, lambda data: with_footer(data, belittle), "x" * 2_000_000, **options)
    assert (tmp_path / "files.parquet").stat().st_size < 10_000
    with pytest.raises(IndexDamagedError, match="too much data"):
        list(read_files(tmp_path))


def test_texts_that_repeat_one_another_are_found_where_the_footer_conceals_their_encoding(tmp_path):
    def conceal(footer):
        column_of(footer, 2)[2][1] = (5, [0])

    options = {"use_dictionary": False, "column_encoding": {"reason": "DELTA_BYTE_ARRAY"}}
    forge_list(tmp_path, lambda data: with_footer(data, conceal), **options)
    with pytest.raises(IndexDamagedError, match="too much data"):
        list(read_files(tmp_path))


NUMBERS = {"huge": 2**62, "large": 2**31 - 1, "negative": -5, "zero": 0}


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_a_list_of_files_whose_footer_lies_is_damage_or_is_read(tmp_path, number):
    for lie in lies(number).values():
        forge_list(tmp_path, lambda data, lie=lie: with_footer(data, lie))
        before = pa.default_memory_pool().max_memory()
        with suppress(IndexDamagedError):
            assert len(list(read_files(tmp_path))) <= 100
        assert pa.default_memory_pool().max_memory() - before < 100_000_000


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=data())
def test_a_list_of_files_with_a_few_other_bytes_is_damage_or_is_read(tmp_path, data):
    def flip(packed):
        changed = bytearray(packed)
        for _ in range(data.draw(integers(1, 3))):
            changed[data.draw(integers(4, len(changed) - 9))] = data.draw(integers(0, 255))
        return bytes(changed)

    forge_list(tmp_path, flip)
    with suppress(IndexDamagedError):
        assert len(list(read_files(tmp_path))) <= 8 * 20_000
