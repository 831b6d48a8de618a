"""A server with an OpenAI-compatible embeddings API, which runs a real model over real sockets and fails on demand."""

import base64
import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from serving_thread import running


class EmbeddingServer(ThreadingHTTPServer):
    """Answers with the vectors of `encode(texts)`, (n, d).

    `misbehave` is called with the handler and the texts of each request; if it returns true, it has answered.
    """

    daemon_threads = True

    def __init__(self, encode):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.encode = encode
        self.misbehave = lambda handler, texts: False
        self.writes_lists = False
        self.models = {"tiny"}
        self.requests = []  # the texts of each
        self.embedded = []  # the texts that got a vector
        self.headers = []
        self._encoding = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def address(self):
        return self.url.removesuffix("/v1")

    def vectors(self, texts):
        with self._encoding:
            return self.encode(texts)

    def handle_error(self, request, client_address):
        """A client that goes away is part of some tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
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

    def reply(self, status, content, **headers):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)
        return True

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

    def log_message(self, *_):
        pass


def serving(encode):
    return running(EmbeddingServer(encode))
