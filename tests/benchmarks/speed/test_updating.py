import json

import pytest

from benchmarks.machine import peak_memory
from benchmarks.speed.updating import folder_measurements


@pytest.mark.slow
def test_the_memory_of_an_update_is_that_of_its_own_process(tmp_path):
    rows = [{"_id": str(n), "text": f"the cat and {n} dogs, by the river of stone. " * 3} for n in range(30)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    here = bytearray(1_000_000_000)
    unchanged, unchanged_memory, changed, changed_memory = folder_measurements(tmp_path, tmp_path / "work", 20)
    assert len(here) < peak_memory()
    assert 0.05 < unchanged_memory.value < changed_memory.value < 0.9
    assert 0 < unchanged.detail["cpu"] < changed.detail["cpu"] and unchanged.value < changed.value
