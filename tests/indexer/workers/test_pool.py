import sys
from collections import Counter

import pytest
from read_by_workers import outcomes, reading, sources_of

from cdesearch.errors import CdesearchError
from indexer.workers import process
from indexer.workers.messages import Limits
from indexer.workers.pool import Pool


def test_the_same_chunks_come_in_the_order_of_the_files_however_many_workers_there_are(tmp_path, tiny_tokenizer):
    texts = ["the river " * (1000 if number % 7 == 0 else 5) + str(number) for number in range(60)]
    sources = sources_of(tmp_path, texts)
    found = []
    for n_workers in (1, 3):
        _, read = outcomes(sources, tiny_tokenizer, n_workers, Limits())
        parts = [part for message in read for part in message.parts]
        assert [part.source for part in parts if part.ended] == sources
        paths = [part.source.path for part in parts for _ in range(part.n_chunks)]
        found.append([row for message in read for row in message.chunks.to_pylist()])
        assert [row["path"] for row in found[-1]] == paths
        assert {row["path"]: row["n_chunks"] for part in parts for row in part.documents} == Counter(paths)
    assert found[0] == found[1]


def test_a_worker_that_cannot_start_is_one_clear_error(tmp_path, monkeypatch, tiny_tokenizer):
    sources = sources_of(tmp_path, ["the cat"])
    for command in [("there-is-no-such-program",), (sys.executable, "-c", "raise SystemExit('no library')")]:
        monkeypatch.setattr(process, "COMMAND", command)
        with pytest.raises(CdesearchError, match="cannot start"):
            outcomes(sources, tiny_tokenizer)


def test_a_lock_that_an_interrupt_left_held_does_not_stop_the_workers_from_ending(tmp_path, tiny_tokenizer):
    workers = Pool(2)
    next(workers.read(sources_of(tmp_path, ["the cat", "the dog"]), reading(tiny_tokenizer, Limits())))
    workers._turn.acquire()
    workers.close()
    assert not any(thread.is_alive() for thread in workers._threads)
