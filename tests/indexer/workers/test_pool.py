import sys

import pytest
from read_by_workers import outcomes, reading, sources_of

from cdesearch.errors import CdesearchError
from indexer.workers import pool, process
from indexer.workers.limits import Limits
from indexer.workers.pool import Batch, Ended, Pool


def test_the_same_chunks_come_in_the_order_of_the_files_however_many_workers_there_are(tmp_path, tiny_tokenizer):
    texts = ["the river " * (3000 if number % 7 == 0 else 5) + str(number) for number in range(60)]
    sources = sources_of(tmp_path, texts)
    found = []
    for n_workers in (1, 3):
        _, events = outcomes(sources, tiny_tokenizer, n_workers, Limits())
        places = [sources.index(event.source) for event in events]
        assert places == sorted(places)
        assert len([event for event in events if isinstance(event, Ended)]) == 60
        found.append([row for event in events if isinstance(event, Batch) for row in event.chunks.to_pylist()])
    assert found[0] == found[1]


def test_what_waits_for_its_turn_is_bounded(tmp_path, tiny_tokenizer, monkeypatch):
    monkeypatch.setattr(pool, "MOST_WAITING_BYTES", 20_000)
    sources = sources_of(tmp_path, ["the river and the stone " * 2000] * 8)
    most, reached = 0, 0
    with Pool(3) as workers:
        for event in workers.read(sources, reading(tiny_tokenizer, Limits())):
            others = sum(
                message.size
                for place in workers._waiting
                if place != workers._head
                for message in workers._waiting[place]
            )
            most = max(most, others)
            reached += isinstance(event, Ended) and event.reason is None
    assert reached == 8
    assert most < 20_000 + 3 * 300_000, "a worker may finish the message that it is at"


def test_a_worker_that_cannot_start_is_one_clear_error(tmp_path, monkeypatch, tiny_tokenizer):
    sources = sources_of(tmp_path, ["the cat"])
    for command in [("there-is-no-such-program",), (sys.executable, "-c", "raise SystemExit('no library')")]:
        monkeypatch.setattr(process, "COMMAND", command)
        with pytest.raises(CdesearchError, match="cannot start"):
            outcomes(sources, tiny_tokenizer)
