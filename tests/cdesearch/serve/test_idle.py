import asyncio
import time
from types import SimpleNamespace

import pytest

from cdesearch.errors import InputError
from cdesearch.serve.idle import IdleClock
from cdesearch.serve.settings import seconds_of


@pytest.mark.parametrize(("typed", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1s", 1)])
def test_a_duration_has_a_number_and_a_unit(typed, seconds):
    assert seconds_of(typed) == seconds


@pytest.mark.parametrize("typed", ["", "30", "m", "-1m", "1.5h", "0s", "1d", "1 m", "9999999s", "1m30s"])
def test_other_durations_are_refused_in_one_line(typed):
    with pytest.raises(InputError, match="90s, 30m or 2h"):
        seconds_of(typed)


def run_until_idle(requests, limit):
    """Return the seconds after which a server stops. `requests` are pairs of start and duration in seconds."""

    async def app(scope, receive, send):
        await asyncio.sleep(scope["length"])

    async def run():
        clock, server = IdleClock(app), SimpleNamespace(should_exit=False)

        async def request(begin, length):
            await asyncio.sleep(begin)
            await clock({"type": "http", "length": length}, None, None)

        started = time.monotonic()
        others = [asyncio.create_task(request(*times)) for times in requests]
        await clock.end_when_idle(server, limit)
        assert server.should_exit
        ended = time.monotonic() - started
        await asyncio.gather(*others)
        return ended

    return asyncio.run(run())


def test_a_server_stops_after_the_limit_without_a_request():
    assert 0.2 <= run_until_idle([], 0.2) < 2


def test_a_request_postpones_the_stop_by_its_duration_and_the_limit():
    assert run_until_idle([(0.1, 0.4)], 0.2) >= 0.7
    assert run_until_idle([(0.1, 0.1), (0.3, 0.1)], 0.3) >= 0.7
