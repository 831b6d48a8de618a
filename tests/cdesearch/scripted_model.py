"""A server that plays a language model by a script, over real sockets."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from serving_thread import running


class ScriptedModel(ThreadingHTTPServer):
    """Answers each request with `play(handler)` and stores what it was sent."""

    daemon_threads = True

    def __init__(self, play):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.play = play
        self.requests = []  # path, headers, body
        self.errors = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request, client_address):
        """A client that goes away is part of some scripts."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, dict(self.headers), json.loads(body)))
        self.server.play(self)

    def log_message(self, *_):
        pass

    def reply(self, status, content, kind="application/json", **headers):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()

    def event(self, value):
        data = value if isinstance(value, str) else json.dumps(value)
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()

    def stream(self, *pieces, done=True):
        self.begin_stream()
        self.event({"choices": [{"index": 0, "delta": {"role": "assistant"}}]})
        self.wfile.write(b": keep-alive\n\n")
        for piece in pieces:
            self.event(delta(piece))
        if done:
            self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            self.event("[DONE]")
        self.close_connection = True


def delta(text):
    return {"choices": [{"index": 0, "delta": {"content": text}}]}


def scripted(play):
    return running(ScriptedModel(play))


def speaking(*pieces, done=True):
    return scripted(lambda handler: handler.stream(*pieces, done=done))
