"""A server that plays a language model by a script, over real sockets."""

import json

from serving_thread import LocalHandler, LocalServer, running


class ScriptedModel(LocalServer):
    """Answers each request with `play(handler)` and stores what it was sent."""

    def __init__(self, play):
        super().__init__(_Handler)
        self.play = play
        self.requests = []  # path, headers, body


class _Handler(LocalHandler):
    def do_POST(self):  # noqa: N802 (a name that the library calls)
        self.server.requests.append((self.path, dict(self.headers), self.sent()))
        self.server.play(self)

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
