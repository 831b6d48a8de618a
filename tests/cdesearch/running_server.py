"""A server of the web application that runs in a thread of the test: a real uvicorn on a real port."""

import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import httpx

from cdesearch.serve.app import create_app
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.server import listening, make_server
from cdesearch.serve.settings import ServeSettings

PATIENCE = 60  # seconds


class RunningServer:
    """`url` of a running server, its `indexes`, and a client for requests below /api/v1 and others."""

    def __init__(self, indexes, url, sockets):
        self.indexes, self.url, self.sockets = indexes, url, sockets
        self.port = int(url.rpartition(":")[2])
        self.client = httpx.Client(base_url=url, timeout=PATIENCE)

    def get(self, path, **options):
        """The response to a request for `path`, which begins with a slash or is one below /api/v1."""
        return self.client.get(path if path.startswith("/") else f"/api/v1/{path}", **options)

    def json(self, path, /, **parameters):
        response = self.get(path, params=parameters)
        assert response.status_code == 200, response.text
        return response.json()


@contextmanager
def running_server(indexes, settings=None, paths=()):
    """Serve open `indexes`, or those of folders."""
    if not isinstance(indexes, ServedIndexes):
        indexes = ServedIndexes.open(indexes)
    settings = replace(settings or ServeSettings(), port=0)
    with indexes, listening(settings.host, settings.port, paths) as sockets:
        url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        server = make_server(create_app(indexes, settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": sockets})
        thread.start()
        try:
            wait_until(lambda: server.started or not thread.is_alive())
            running = RunningServer(indexes, url, sockets)
            with running.client:
                yield running
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()


def wait_until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
