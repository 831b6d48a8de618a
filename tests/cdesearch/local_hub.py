"""The part of huggingface.co that huggingface_hub needs to download a model, on this machine."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from serving_thread import LocalServer, running

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def serving(models: dict[str, Path]) -> Iterator[str]:
    """The address that serves folders as models of these names."""
    with running(LocalServer(_handler(models))) as server:
        yield server.url.removesuffix("/v1")


def _handler(models):
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.answer(with_body=False)

        def do_GET(self):
            self.answer(with_body=True)

        def answer(self, with_body):
            path = self.path.partition("?")[0].lstrip("/")
            if path.startswith("api/models/"):
                name = "/".join(path.split("/")[2:4])
                if name not in models:
                    return self.reply(b"{}", with_body, code=404, **{"X-Error-Code": "RepoNotFound"})
                files = [file for file in sorted(models[name].rglob("*")) if file.is_file()]
                names = {str(file.relative_to(models[name])): file for file in files}
                if "/tree/" in path:
                    tree = [described(file, name) for name, file in names.items()]
                else:
                    tree = {"id": name, "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}
                return self.reply(json.dumps(tree).encode(), with_body, **{"Content-Type": "application/json"})
            owner, model, word, _, file = [*path.split("/", 4), *[""] * 5][:5]
            if word != "resolve":
                return self.reply(b"", with_body, code=404)
            body = (models[f"{owner}/{model}"] / file).read_bytes()
            tag = hashlib.sha256(body).hexdigest()
            return self.reply(body, with_body, **{"ETag": f'"{tag}"', "X-Repo-Commit": COMMIT})

        def reply(self, body, with_body, code=200, **headers):
            self.send_response(code)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


def described(file, name):
    body = file.read_bytes()
    return {
        "type": "file",
        "path": name,
        "size": len(body),
        "oid": hashlib.sha1(body).hexdigest(),
        "lfs": {"oid": hashlib.sha256(body).hexdigest(), "size": len(body), "pointerSize": 1},
    }
