"""An S3-compatible server in this process, and a proxy in front of it that makes its faults."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LATENCY = 0.1  # seconds, as between two regions
KEEP = {"connection", "keep-alive", "transfer-encoding", "content-length"}
NO_BUCKET = b"<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>"
SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"


class FaultyProxy:
    """Forwards requests to the server at `port`, with the faults that its attributes set."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.latency = 0.0  # seconds before each response
        self.failing = 0.0  # the share of requests that fail with 503
        self.cut = 0.0  # the share of responses whose connection ends in the middle
        self.is_gone = False  # whether the bucket has been removed
        self.is_read_only = False  # whether writing is forbidden
        self.requests: list[str] = []  # the method and path of each request
        self.before: Any = None  # called with the method and path of each request
        self._random = random.Random(0)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop listening, so that connections are refused."""
        self._server.shutdown()
        self._server.server_close()

    def happens(self, share: float) -> bool:
        with self._lock:
            return self._random.random() < share

    def note(self, method: str, path: str) -> None:
        with self._lock:
            self.requests.append(f"{method} {path.partition('?')[0]}")
        if self.before is not None:
            self.before(method, path)

    @contextmanager
    def counting(self) -> Iterator[list[str]]:
        """Yield a list that has the requests of the block at its end."""
        found: list[str] = []
        n_before = len(self.requests)
        yield found
        found += self.requests[n_before:]


def _handler(proxy: FaultyProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxy.note(self.command, self.path)
            time.sleep(proxy.latency)
            if proxy.is_gone:
                self._send(404, {}, NO_BUCKET)
            elif proxy.is_read_only and self.command not in ("GET", "HEAD"):
                self._send(403, {}, DENIED)
            elif proxy.happens(proxy.failing):
                self._send(503, {}, SLOW_DOWN)
            else:
                self._send(*self._forwarded(body))

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer  # noqa: N815 (names that the library calls)

        def _forwarded(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
            server = HTTPConnection("127.0.0.1", proxy.target)
            try:
                server.request(self.command, self.path, body, dict(self.headers))
                response = server.getresponse()
                headers = {name: value for name, value in response.getheaders() if name.lower() not in KEEP}
                if self.command == "HEAD":
                    headers["Content-Length"] = response.getheader("Content-Length") or "0"
                return response.status, headers, response.read()
            finally:
                server.close()

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if proxy.happens(proxy.cut):
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
            else:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
