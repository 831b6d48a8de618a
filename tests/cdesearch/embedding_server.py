"""A server with an OpenAI-compatible embeddings API, which runs a real model over real sockets and fails on demand."""

import base64
import socket
import struct
import threading
import time

from serving_thread import LocalHandler, LocalServer, running


class EmbeddingServer(LocalServer):
    """Answers with the vectors of `encode(texts)`, (n, d).

    `misbehave` is called with the handler and the texts of each request; if it returns true, it has answered.
    """

    def __init__(self, encode):
        super().__init__(_Handler)
        self.encode = encode
        self.misbehave = lambda handler, texts: False
        self.writes_lists = False
        self.models = {"tiny"}
        self.requests = []  # the texts of each
        self.embedded = []  # the texts that got a vector
        self.headers = []
        self._encoding = threading.Lock()

    @property
    def address(self):
        return self.url.removesuffix("/v1")

    def vectors(self, texts):
        with self._encoding:
            return self.encode(texts)


class _Handler(LocalHandler):
    def do_POST(self):  # noqa: N802 (a name that the library calls)
        body = self.sent()
        texts = body["input"]
        self.server.requests.append(texts)
        self.server.headers.append(dict(self.headers))
        assert self.path == "/v1/embeddings" and body["model"] in self.server.models, (self.path, body["model"])
        if not self.server.misbehave(self, texts):
            self.embed(texts)

    def embed(self, texts, change=lambda rows: rows):
        vectors = self.server.vectors(texts)
        rows = [
            {"object": "embedding", "index": number, "embedding": self._written(vector)}
            for number, vector in enumerate(vectors)
        ]
        self.server.embedded += texts
        self.reply(200, {"object": "list", "data": change(rows), "model": "tiny"})

    def _written(self, vector):
        if self.server.writes_lists:
            return [float(number) for number in vector]
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()

    def drip(self, part, seconds):
        """Send the headers or the body of an answer byte by byte, which never ends within `seconds`."""
        lines = {"headers": "", "body": "Content-Length: 5000\r\n\r\n", "chunks": "Transfer-Encoding: chunked\r\n\r\n"}
        self.wfile.write(f"HTTP/1.1 200 OK\r\n{lines[part]}".encode())
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.wfile.write({"headers": b"X-Slow: 1\r\n", "body": b" ", "chunks": b"1\r\n \r\n"}[part])
            time.sleep(0.05)
        self.close_connection = True
        return True

    def cut(self):
        """End the connection at once, without an answer."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
        return True

    def delay(self, seconds):
        time.sleep(seconds)
        return False


def serving(encode):
    return running(EmbeddingServer(encode))
