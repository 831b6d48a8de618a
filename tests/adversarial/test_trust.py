"""An index from elsewhere does not choose the model, the server or the files to read; nothing is downloaded for it."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from built import make_index, write_documents, write_files
from command import cdesearch, cdesearch_process, cdesearch_several, picture
from serving_thread import LocalHandler, LocalServer, running

import cdesearch as package
from cdesearch.cli.status import read_status
from cdesearch.encode.backends.endpoint import KEY
from cdesearch.errors import CdesearchError, IndexUntrustedError
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.store.checksums import write_checksums
from cdesearch.store.index import Index
from cdesearch.store.trust import trust_file

SECRET = "sk-very-secret"


@pytest.fixture(autouse=True)
def config(own_config):
    """The file of what the user has confirmed, in this process and its children."""
    return own_config / "trusted.json"


@pytest.fixture
def docs(tmp_path):
    return write_files(tmp_path / "docs", {"a.md": "the cat in the house"})


@pytest.fixture
def secret(tmp_path):
    return write_files(tmp_path / "secret", {"diary.md": "the moon and the password"})


@pytest.fixture
def plain(docs):
    """An index of the model that ships."""
    make_index([docs])
    return docs


@pytest.fixture
def other(docs, tiny_checkpoint, tmp_path):
    """An index of another model, which nobody has confirmed on this computer."""
    make_index([docs], model=tiny_checkpoint)
    return shutil.copytree(docs, tmp_path / "cloned", symlinks=True)


def edit(docs, **values):
    """Change the manifest and update the checksums, as an attacker would."""
    generation = Index.open(docs).generation
    file = generation / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    write_checksums(generation, None)


# The model.


@pytest.fixture
def hub():
    """A server in place of huggingface.co that records the requests."""
    requests = []

    class Handler(LocalHandler):
        def do_GET(self):  # noqa: N802 (a name that the library calls)
            requests.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815 (a name that the library calls)

    with running(LocalServer(Handler)) as server:
        yield server.url.removesuffix("/v1"), requests


@pytest.mark.slow
def test_a_query_never_asks_the_network_for_the_model_of_an_index(plain, hub, tmp_path):
    url, requests = hub
    place = {"HF_ENDPOINT": url, "HF_HOME": str(tmp_path / "cache")}
    edit(plain, model="evil/model")
    unnamed, named, _, _, trusted, updated = cdesearch_several(
        (["query", "cat"], 2),
        (["query", "cat", "--model", "evil/model"], 2),
        (["index", "."], 2),
        (["trust", "--yes"], 0),
        (["query", "cat"], 2),
        (["index", "."], 2),
        cwd=plain,
        **place,
    )
    assert "asks for the model evil/model" in unnamed.stderr
    assert "cdesearch trust" in unnamed.stderr and "--model" in unnamed.stderr
    assert "cdesearch models fetch evil/model" in named.stderr
    for run in (trusted, updated):
        assert "a query never downloads a model" in run.stderr
    assert not requests
    cdesearch("index", ".", "--model", "evil/model", cwd=plain, code=2, **place)
    assert requests, "the server is reachable"


@pytest.mark.slow
def test_another_model_is_confirmed_for_one_call_by_naming_it(other, tiny_checkpoint, config):
    before = config.read_text()
    for action in (lambda: package.open(other).search("cat"), lambda: make_index([other])):
        with pytest.raises(IndexUntrustedError, match="tiny"):
            action()
    assert package.open(other).search("cat", mode="text")
    assert package.open(other, model=tiny_checkpoint).search("cat")
    assert cdesearch_process("query", "cat", "--model", tiny_checkpoint, cwd=other).stdout
    assert config.read_text() == before


def test_trust_shows_the_request_and_records_exactly_that(other, tiny_checkpoint, config, tmp_path):
    config.unlink()
    refused = cdesearch_process("trust", cwd=other, code=2)  # not at a terminal
    assert "error: Nothing is confirmed." in refused.stderr and not config.exists()
    output = cdesearch("trust", "--yes", cwd=other).stdout
    assert str(tiny_checkpoint) in output and str(config) in output
    entry = {"model": str(tiny_checkpoint), "folders": [], "owner": None}
    assert json.loads(config.read_text()) == {str(other / ".cdesearch"): entry}
    assert package.open(other).search("cat")
    assert f"This is already confirmed in {config}." in cdesearch_process("trust", cwd=other).stdout
    other.rename(tmp_path / "moved")
    with pytest.raises(IndexUntrustedError, match="for an index at this path"):
        package.open(tmp_path / "moved").search("cat")
    (tmp_path / "way").symlink_to(tmp_path / "moved")
    cdesearch("trust", "--yes", "way", cwd=tmp_path)
    assert package.open(tmp_path / "moved").search("cat")
    edit(tmp_path / "moved", model="/another/model")
    with pytest.raises(IndexUntrustedError, match="/another/model"):
        package.open(tmp_path / "moved").search("cat")


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(("typed", "code"), [(b"n\n", 2), (b"\x04", 2), (b"y\n", 0)])
def test_trust_at_a_terminal_ends_with_the_code_of_the_answer(other, config, typed, code):
    config.unlink()
    ours, theirs = os.openpty()
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "cdesearch", "trust"]
    run = subprocess.Popen(command, cwd=other, stdin=theirs, stdout=pipe, stderr=pipe)
    os.close(theirs)
    shown = b""
    while b"[y/N]:" not in shown and (more := run.stdout.read1()):
        shown += more
    os.write(ours, typed)
    _, error = run.communicate(timeout=60)
    os.close(ours)
    assert run.returncode == code and config.exists() is (code == 0), error
    assert (b"error: Nothing is confirmed." in error) is (code == 2) and b"Traceback" not in error


@pytest.mark.slow
def test_naming_a_folder_elsewhere_or_a_model_is_recorded_and_reported_once(docs, secret, config, tiny_checkpoint):
    for form, change in (([], "a moon"), (["--json"], "two moons")):
        index = docs.parent / "indexes" / f"of{len(form)}"
        arguments = ["index", secret, "--model", tiny_checkpoint, "--index", index, *form]
        made = cdesearch(*arguments, cwd=docs)
        confirmed = f"the model {tiny_checkpoint}, the content of {secret}"
        expected = f"Recorded in {config} as confirmed for this index: {confirmed}."
        assert made.stderr.splitlines().count(expected) == 1
        (secret / "diary.md").write_text(change)
        before = config.stat().st_mtime_ns
        assert "Recorded" not in cdesearch(*arguments, cwd=docs).stderr
        assert config.stat().st_mtime_ns == before, "nothing new was confirmed, so nothing was written"


# The server of a model.


@pytest.mark.slow
def test_the_key_is_sent_and_is_nowhere_on_the_disk_or_in_the_output(docs, server, monkeypatch, tmp_path):
    monkeypatch.setenv(KEY, SECRET)
    outputs = [cdesearch("index", docs, "--model", server.url, "--model-name", "tiny", cwd=tmp_path)]
    outputs += [cdesearch(*command, cwd=docs) for command in (["status"], ["doctor"], ["query", "the cat"])]
    server.misbehave = lambda handler, texts: handler.reply(400, {"error": f"bad {SECRET}"})
    outputs.append(cdesearch("query", "the cat", cwd=docs, code=2))
    assert all(headers["Authorization"] == f"Bearer {SECRET}" for headers in server.headers)
    assert not any(SECRET in run.stdout + run.stderr for run in outputs)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 10 and not any(SECRET.encode() in file.read_bytes() for file in files)


@pytest.mark.slow
def test_an_index_of_somebody_else_contacts_its_server_only_after_trust(docs, server, tmp_path, monkeypatch):
    write_documents(docs / "more")
    make_index([docs], model=EndpointModel(server.url, "tiny"))
    copy = shutil.copytree(docs, tmp_path / "cloned")
    server.requests.clear()
    monkeypatch.setenv(KEY, SECRET)
    (tmp_path / "questions.jsonl").write_text('{"question": "cat", "answers": [{"path": "a.md", "phrase": "the cat"}]}')
    for arguments in (["query", "the cat"], ["eval", "--questions", tmp_path / "questions.jsonl"], ["index"]):
        failed = cdesearch(*arguments, cwd=copy, code=2).stderr
        assert "a model at http://127.0.0.1" in failed and "to which texts and queries are sent" in failed
        assert "cdesearch trust" in failed
    with pytest.raises(IndexUntrustedError):
        package.open(copy).search("the cat")
    for arguments in (["status"], ["query", "the cat", "--mode", "text"], ["doctor"]):
        cdesearch(*arguments, cwd=copy)
    assert not server.requests
    shown = cdesearch("trust", "--yes", cwd=copy).stdout
    assert f"sends   texts of the indexed files, your queries and the key in ${KEY} to {server.url}" in shown
    cdesearch("query", "the cat", cwd=copy)
    assert server.requests


# The folders that are read.


@pytest.mark.parametrize("is_link", [False, True])
@pytest.mark.parametrize("command", ["index", "status"])
def test_an_edited_root_or_a_link_out_of_the_tree_reads_nothing(plain, secret, command, is_link, config):
    assert "nothing to confirm" in cdesearch("trust", cwd=plain).stdout and not config.exists()
    (plain / "notes").symlink_to(secret)
    edit(plain, **({"sources": ["a.md", "notes"]} if is_link else {"root": str(secret)}))
    before = picture(plain / ".cdesearch" / "generations")
    output = cdesearch(command, cwd=plain, code=2).stderr
    assert f"asks for the content of {secret}" in output and "cdesearch trust" in output
    assert picture(plain / ".cdesearch" / "generations") == before


def test_naming_one_folder_does_not_confirm_another(plain, secret):
    edit(plain, root=str(secret.parent), sources=["docs", "secret"])
    with pytest.raises(IndexUntrustedError, match=str(secret)):
        make_index([plain])
    assert make_index([secret], index=plain).changed
    assert json.loads(trust_file().read_text())[str(plain / ".cdesearch")]["folders"] == [str(secret)]
    assert not make_index([], index=plain).changed


def test_an_index_outside_its_documents_can_be_updated_by_its_user(docs, tmp_path):
    index = tmp_path / "indexes" / "docs"
    make_index([docs], index=index)
    assert read_status(Index(index))["new_files"] == 0
    (docs / "b.md").write_text("the dog")
    assert make_index([], index=index).changed
    trust_file().unlink()
    with pytest.raises(IndexUntrustedError, match=str(docs)):
        make_index([], index=index)


# The list of confirmations.


def test_if_a_confirmation_cannot_be_stored_the_run_warns_and_continues(docs, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    report = make_index([docs], index=tmp_path / "indexes" / "docs")
    assert report.changed and "ask you to confirm the model or folders" in str(report.note)


@pytest.mark.parametrize("text", ["{", "[]", '{"x": 7}', '{"x": {"model": 7, "folders": []}}', "[" * 100_000])
def test_a_broken_list_of_confirmations_confirms_nothing_and_is_kept(other, config, text):
    config.write_text(text)
    with pytest.raises(CdesearchError, match=r"trusted\.json cannot be read"):
        package.open(other).search("cat")
    cdesearch("trust", "--yes", cwd=other, code=2)
    assert config.read_text() == text


def test_a_name_with_escapes_does_not_control_the_terminal(plain):
    edit(plain, model="/x\x1b]0;owned\x07")
    for command in (["query", "cat"], ["trust"]):
        run = cdesearch(*command, cwd=plain, code=2)
        assert "\x1b" not in run.stdout + run.stderr and "\\x1b" in run.stdout + run.stderr
