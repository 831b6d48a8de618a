"""A server of the standard library that answers in a thread of the test."""

import threading
from contextlib import contextmanager


@contextmanager
def running(server):
    """Serve with `server` until the block ends, and close it."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
