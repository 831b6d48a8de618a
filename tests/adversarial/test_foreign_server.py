"""An index never makes a command contact a server, or send it a key, unless the user has named or confirmed it."""

import shutil

import pytest
from built import write_documents
from command import cdesearch
from embedding_server import serving

import cdesearch as package
from cdesearch.encode.backends.endpoint import KEY
from cdesearch.errors import IndexUntrustedError
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.progress import Silent
from indexer.build import build
from indexer.settings import Options

SECRET = "sk-very-secret"


@pytest.fixture(autouse=True)
def _no_confirmations(tmp_path, monkeypatch):
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "config"))


@pytest.fixture
def server(tiny_encoder):
    with serving(lambda texts: tiny_encoder.encode_each(texts, "document", None)) as server:
        yield server


@pytest.fixture
def docs(tmp_path):
    return write_documents(tmp_path / "docs")


def test_the_key_is_sent_and_is_nowhere_on_the_disk_or_in_the_output(docs, server, monkeypatch, tmp_path):
    monkeypatch.setenv(KEY, SECRET)
    options = ("--model", server.url, "--model-name", "tiny")
    outputs = [cdesearch("index", docs, *options, cwd=tmp_path)]
    outputs += [cdesearch(command, cwd=docs) for command in ("status", "doctor")]
    outputs.append(cdesearch("query", "the cat", cwd=docs))
    server.misbehave = lambda handler, texts: handler.reply(400, {"error": f"bad {SECRET}"})
    outputs.append(cdesearch("query", "the cat", cwd=docs, code=2))
    assert all(headers["Authorization"] == f"Bearer {SECRET}" for headers in server.headers)
    assert not any(SECRET in run.stdout + run.stderr for run in outputs)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 20 and not any(SECRET.encode() in file.read_bytes() for file in files)


def test_an_index_of_somebody_else_contacts_its_server_only_after_trust(docs, server, tmp_path, monkeypatch):
    build([docs], Options(model=EndpointModel(server.url, "tiny")), Silent())
    copy = shutil.copytree(docs, tmp_path / "cloned")
    server.requests.clear()
    monkeypatch.setenv(KEY, SECRET)
    for arguments in (["query", "the cat"], ["query", "the cat", "--update"], ["eval"], ["index"]):
        ended = cdesearch(*arguments, cwd=copy, code=None)
        failed = ended.stderr
        assert ended.returncode == 2
        assert "a model at http://127.0.0.1" in failed and "to which texts and queries are sent" in failed
        assert "cdesearch trust" in failed
    with pytest.raises(IndexUntrustedError):
        package.open(copy).search("the cat")
    cdesearch("status", cwd=copy)
    cdesearch("query", "the cat", "--mode", "text", cwd=copy)
    cdesearch("doctor", cwd=copy)
    assert not server.requests
    shown = cdesearch("trust", "--yes", cwd=copy).stdout
    assert f"sends   texts of the indexed files, your queries and the key in ${KEY} to {server.url}" in shown
    cdesearch("query", "the cat", cwd=copy)
    assert server.requests


@pytest.mark.parametrize(
    "line", ['model = "http://127.0.0.1:9/v1"', 'model-name = "tiny"', 'query-prefix = "x"', 'document-prefix = "x"']
)
def test_the_file_of_a_project_cannot_choose_a_server_or_what_it_is_told(docs, line):
    (docs / ".cdesearch.toml").write_text(f"[index]\n{line}\n")
    assert "the file of a project must not do" in cdesearch("index", cwd=docs, code=2).stderr
