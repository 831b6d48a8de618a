import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from running_server import running_server, wait_until

from cdesearch.errors import BusyError
from cdesearch.search.searcher import Searcher
from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.settings import ServeSettings
from cdesearch.store.index import Index


class Held(Searcher):
    """An index whose searches wait until an event is set."""

    def __init__(self, index):
        super().__init__(index)
        self.event, self.n_running = threading.Event(), 0

    def _answers(self, requests):
        self.n_running += 1
        assert self.event.wait(60)
        return super()._answers(requests)


@pytest.fixture
def held(pages):
    with Held(Index.open(pages)) as searcher:
        yield searcher


def test_searches_beyond_the_queue_are_refused_and_the_others_are_answered(held):
    settings = ServeSettings(running=2, waiting=3)
    with running_server(ServedIndexes([ServedIndex("held", held)]), settings) as server, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(server.get, "search?q=cat") for _ in range(8)]
        wait_until(lambda: sum(one.done() for one in asked) == 3)
        assert held.n_running == 2
        for refused in (one.result() for one in asked if one.done()):
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            assert "Too many requests are waiting" in refused.json()["detail"]
        held.event.set()
        assert sorted(one.result().status_code for one in asked) == [200] * 5 + [429] * 3
        assert server.get("search?q=cat").status_code == 200


def test_a_search_that_takes_too_long_fails_and_its_thread_is_free_when_it_ends(held):
    settings = ServeSettings(running=1, waiting=0, search_seconds=0.2)
    with running_server(ServedIndexes([ServedIndex("held", held)]), settings) as server:
        late = server.get("search?q=cat")
        assert late.status_code == 429
        assert "not finished after 0.2 seconds" in late.json()["detail"]
        # The late search cannot be interrupted, so its thread is still busy.
        assert "Too many requests are waiting" in server.get("search?q=cat").json()["detail"]
        held.event.set()
        wait_until(lambda: server.get("search?q=cat").status_code == 200)


def test_a_waiting_search_that_exceeds_the_time_limit_never_runs():
    async def run():
        admission, event, ran = Admission(1, 1, 0.1), threading.Event(), []
        first = asyncio.create_task(admission.run(lambda: event.wait(60)))
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await admission.run(lambda: ran.append(1))
        with pytest.raises(BusyError):
            await first
        event.set()
        admission.close()
        assert not ran

    asyncio.run(run())
