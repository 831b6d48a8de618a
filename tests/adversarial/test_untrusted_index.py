"""An index from elsewhere does not choose the model or the files to read, and nothing is downloaded for it."""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import fields, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from command import cdesearch, cdesearch_process, cdesearch_several, picture

import cdesearch as package
from cdesearch.cli.status import read_status
from cdesearch.context.context import Context
from cdesearch.errors import CdesearchError, IndexDamagedError, IndexUntrustedError, ModelError
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.checksums import write_checksums
from cdesearch.store.index import Index
from cdesearch.store.trust import TrustRequest, check_confirmed, confirm, trust_file
from indexer.build import build
from indexer.settings import Options


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    """An empty configuration folder for this process and its children."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    return tmp_path / "config" / "cdesearch" / "trusted.json"


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("the cat in the house")
    return folder


@pytest.fixture
def secret(tmp_path):
    folder = tmp_path / "secret"
    folder.mkdir()
    (folder / "diary.md").write_text("the moon and the password")
    return folder


def built(folder, options):
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("the cat in the house")
    build([folder / "docs"], options, Silent())
    return folder / "docs"


@pytest.fixture(scope="module")
def ready_plain(tmp_path_factory):
    return built(tmp_path_factory.mktemp("plain"), Options())


@pytest.fixture(scope="module")
def ready_other(tmp_path_factory, tiny_checkpoint):
    return built(tmp_path_factory.mktemp("other"), Options(model=tiny_checkpoint))


@pytest.fixture
def plain(ready_plain, tmp_path):
    """An index of the model that ships."""
    return shutil.copytree(ready_plain, tmp_path / "docs", symlinks=True)


@pytest.fixture
def other(ready_other, tmp_path):
    """An index of another model, which nobody has confirmed on this computer."""
    return shutil.copytree(ready_other, tmp_path / "docs", symlinks=True)


def edit(docs, **values):
    """Change the manifest and update the checksums, as an attacker would."""
    generation = Index.open(docs).generation
    file = generation / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    write_checksums(generation, None)


@pytest.fixture
def hub():
    """A server in place of huggingface.co that records the requests."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_error(404)

        def do_HEAD(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", requests
    server.shutdown()
    server.server_close()


# The model.


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


def test_a_query_by_words_needs_no_model_and_no_confirmation(other):
    assert Searcher(Index.open(other)).search("cat", mode="text")


@pytest.mark.slow
def test_another_model_is_confirmed_for_one_call_by_naming_it(other, tiny_checkpoint, config):
    with pytest.raises(IndexUntrustedError, match="tiny"):
        package.open(other).search("cat")
    assert package.open(other, model=tiny_checkpoint).search("cat")
    assert cdesearch_process("query", "cat", "--model", tiny_checkpoint, cwd=other).stdout
    assert not config.exists()


def test_trust_shows_the_request_and_records_exactly_that(other, tiny_checkpoint, config):
    output = cdesearch_process("trust", "--yes", cwd=other).stdout
    assert str(tiny_checkpoint) in output and str(config) in output
    entry = {"model": str(tiny_checkpoint), "folders": [], "owner": None}
    assert json.loads(config.read_text()) == {str(other / ".cdesearch"): entry}
    assert package.open(other).search("cat")
    edit(other, model="/another/model")
    with pytest.raises(IndexUntrustedError, match="/another/model"):
        package.open(other).search("cat")


def test_an_index_that_was_moved_must_be_confirmed_again(other, tmp_path):
    cdesearch("trust", "--yes", cwd=other)
    other.rename(tmp_path / "moved")
    with pytest.raises(IndexUntrustedError, match="for an index at this path"):
        package.open(tmp_path / "moved").search("cat")
    (tmp_path / "way").symlink_to(tmp_path / "moved")
    cdesearch("trust", "--yes", "way", cwd=tmp_path)
    assert package.open(tmp_path / "moved").search("cat")


def test_trust_says_what_is_confirmed_already_and_fails_if_nobody_answers(other, config):
    refused = cdesearch_process("trust", cwd=other, code=2)  # not at a terminal
    assert "error: Nothing is confirmed." in refused.stderr and not config.exists()
    cdesearch("trust", "--yes", cwd=other)
    for form in ([], ["--yes"]):
        assert f"This is already confirmed in {config}." in cdesearch_process("trust", *form, cwd=other).stdout


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(("typed", "code"), [(b"n\n", 2), (b"\x04", 2), (b"y\n", 0)])
def test_trust_at_a_terminal_ends_with_the_code_of_the_answer(other, config, typed, code):
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "cdesearch", "trust"]
    pipe = subprocess.PIPE
    run = subprocess.Popen(command, cwd=other, stdin=theirs, stdout=pipe, stderr=pipe)
    os.close(theirs)
    shown = b""
    while b"[y/N]:" not in shown and (more := run.stdout.read1()):
        shown += more
    os.write(ours, typed)
    _, error = run.communicate(timeout=60)
    os.close(ours)
    assert run.returncode == code, error
    assert config.exists() is (code == 0)
    assert (b"error: Nothing is confirmed." in error) is (code == 2) and b"Traceback" not in error


@pytest.mark.slow
def test_naming_a_folder_elsewhere_or_a_model_is_recorded_and_reported_once(docs, secret, config, tiny_checkpoint):
    for form, change in (([], "a moon"), (["--json"], "two moons")):
        index = docs.parent / "indexes" / f"of{len(form)}"
        arguments = ["index", secret, "--model", tiny_checkpoint, "--index", index, *form]
        made = cdesearch(*arguments, cwd=docs)
        expected = f"Recorded in {config} that this index may use the model {tiny_checkpoint} and may read {secret}."
        assert made.stderr.splitlines().count(expected) == 1
        (secret / "diary.md").write_text(change)
        assert "Recorded" not in cdesearch(*arguments, cwd=docs).stderr


def test_naming_a_model_to_index_with_confirms_it(docs, tiny_checkpoint, config):
    build([docs], Options(model=tiny_checkpoint), Silent())
    assert package.open(docs).search("cat")
    before = config.stat()
    (docs / "b.md").write_text("the dog")
    assert build([docs], Options(), Silent()).changed
    assert config.stat() == before, "nothing new was confirmed, so nothing was written"


def test_an_update_does_not_load_a_model_that_nobody_has_confirmed(other):
    with pytest.raises(IndexUntrustedError, match="tiny"):
        build([other], Options(), Silent())


def test_a_folder_in_the_working_directory_does_not_stand_in_for_an_id(plain, tiny_checkpoint, tmp_path, monkeypatch):
    edit(plain, model="me/model")
    shutil.copytree(tiny_checkpoint, tmp_path / "here" / "me" / "model")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    cdesearch("trust", "--yes", plain, cwd=tmp_path)
    with pytest.raises(ModelError, match="not in the cache"):
        package.open(plain).search("cat")


# The folders that are read.


def test_an_index_of_its_own_parent_and_the_model_that_ships_asks_for_nothing(plain, config):
    assert "nothing to confirm" in cdesearch("trust", cwd=plain).stdout
    build([], Options(index=plain), Silent())
    assert package.open(plain).search("cat")
    assert not config.parent.exists()


@pytest.mark.parametrize("command", ["index", "status"])
def test_an_edited_root_reads_nothing(plain, secret, command):
    edit(plain, root=str(secret), sources=["."])
    before = picture(plain)
    output = cdesearch_process(command, cwd=plain, code=2).stderr
    assert f"asks for the content of {secret}" in output and "cdesearch trust" in output
    after = picture(plain)
    assert {name for name in after if after[name] != before.get(name)} <= {
        str(plain / ".cdesearch" / name) for name in ("lock", "lock.holder")
    }


def test_a_source_that_is_a_link_out_of_the_tree_reads_nothing(plain, secret):
    (plain / "notes").symlink_to(secret)
    edit(plain, sources=["a.md", "notes"])
    with pytest.raises(IndexUntrustedError, match=str(secret)):
        build([], Options(index=plain), Silent())
    with pytest.raises(IndexUntrustedError, match=str(secret)):
        read_status(Index.open(plain))


def test_naming_one_folder_does_not_confirm_another(plain, secret):
    edit(plain, root=str(secret.parent), sources=["docs", "secret"])
    with pytest.raises(IndexUntrustedError, match=str(secret)):
        build([plain], Options(), Silent())
    assert build([secret], Options(index=plain), Silent()).changed
    assert json.loads(trust_file().read_text())[str(plain / ".cdesearch")]["folders"] == [str(secret)]
    assert not build([], Options(index=plain), Silent()).changed


def test_an_index_outside_its_documents_can_be_updated_by_its_user(docs, tmp_path):
    index = tmp_path / "indexes" / "docs"
    build([docs], Options(index=index), Silent())
    assert read_status(Index(index))["new_files"] == 0
    (docs / "b.md").write_text("the dog")
    assert build([], Options(index=index), Silent()).changed
    trust_file().unlink()
    with pytest.raises(IndexUntrustedError, match=str(docs)):
        build([], Options(index=index), Silent())


def test_if_a_confirmation_cannot_be_stored_the_run_warns_and_continues(docs, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    report = build([docs], Options(index=tmp_path / "indexes" / "docs"), Silent())
    assert report.changed and "ask you to confirm the model or folders" in str(report.note)


@pytest.mark.parametrize("text", ["{", "[]", '{"x": 7}', '{"x": {"model": 7, "folders": []}}', "[" * 100_000])
def test_a_broken_list_of_confirmations_confirms_nothing_and_is_kept(other, config, text):
    config.parent.mkdir(parents=True)
    config.write_text(text)
    with pytest.raises(CdesearchError, match=r"trusted\.json cannot be read"):
        package.open(other).search("cat")
    cdesearch("trust", "--yes", cwd=other, code=2)
    assert config.read_text() == text


def test_the_list_of_confirmations_may_itself_be_a_link(other, config, tmp_path):
    config.parent.mkdir(parents=True)
    config.symlink_to(tmp_path / "dotfiles.json")
    (tmp_path / "dotfiles.json").write_text("{}")
    cdesearch("trust", "--yes", cwd=other)
    assert config.is_symlink() and package.open(other).search("cat")


def test_a_name_with_escapes_does_not_control_the_terminal(plain):
    edit(plain, model="/x\x1b]0;owned\x07")
    for command in (["query", "cat"], ["trust"]):
        run = cdesearch(*command, cwd=plain, code=2)
        assert "\x1b" not in run.stdout + run.stderr and "\\x1b" in run.stdout + run.stderr


# The contents of the small files.


@pytest.mark.parametrize(
    "text",
    ["../../secret", "/etc", "", "\n", ".", "..", "0123456789AB", "0123456789abc", "0123456789ab\nx", "x" * 999_999],
)
def test_current_may_only_name_a_generation(plain, secret, text):
    shutil.copytree(Index.open(plain).generation, secret / "generation")
    (plain / ".cdesearch" / "CURRENT").write_text(text)
    with pytest.raises(IndexDamagedError, match="CURRENT"):
        Index.open(plain)


def test_a_manifest_that_is_too_large_is_not_parsed(plain):
    file = Index.open(plain).generation / "manifest.json"
    with file.open("r+b") as stream:
        stream.truncate(300_000_000)  # a sparse file
    with pytest.raises(IndexDamagedError, match="larger than"):
        Index.open(plain)


@pytest.mark.parametrize("values", [{"dimension": 385}, {"is_reduced": True}, {"context_size": 7}])
def test_a_manifest_that_does_not_fit_its_arrays_is_damaged(plain, values):
    edit(plain, **values)
    with pytest.raises(IndexDamagedError):
        package.open(plain).search("cat")


@pytest.mark.parametrize(
    "arrays",
    [
        {"shift": np.zeros(7, np.float32)},
        {"shift": np.zeros((384, 1), np.float32)},
        {"projection": np.zeros((384, 7), np.float32)},
        {"projection": np.zeros((384, 0), np.float32), "sample_vectors": np.zeros((1, 0), np.float32)},
        {"projection": np.zeros((384, 385), np.float32), "sample_vectors": np.zeros((1, 385), np.float32)},
        {"vectors": np.zeros((99, 384), np.float32)},
        {"token_weights": np.zeros(7, np.float32)},
        {"sample_vectors": np.zeros((1, 7), np.float32)},
        {"keys": np.zeros((3, 1, 384), np.float32), "values": np.zeros((3, 1, 384), np.float32)},
        {"keys": np.zeros((3, 1, 384), np.float32)},
        {"shift": np.zeros(384, np.float64)},
    ],
    ids=lambda arrays: " ".join(f"{name}{array.shape}{array.dtype}" for name, array in arrays.items()),
)
def test_a_context_whose_arrays_do_not_fit_is_damaged(plain, arrays):
    index = Index.open(plain)
    context = index.context
    context = replace(context, **{name: array for name, array in arrays.items() if name == "sample_vectors"})
    for part in ("inputs", "whitening"):
        names = {field.name for field in fields(getattr(context, part))}
        changed = {name: array for name, array in arrays.items() if name in names}
        context = replace(context, **{part: replace(getattr(context, part), **changed)})
    context.save(index.generation / "context.safetensors")
    with pytest.raises(IndexDamagedError):
        package.open(plain).search("cat")


def test_a_context_that_claims_more_than_its_file_holds_reserves_nothing(plain):
    file = Index.open(plain).generation / "context.safetensors"
    shape = [1 << 20, 1 << 20]
    header = json.dumps({"vectors": {"dtype": "F32", "shape": shape, "data_offsets": [0, 1 << 42]}}).encode()
    file.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(IndexDamagedError):
        Context.load(file)


def test_tables_of_another_dimension_are_damaged(plain, other_dimension=16):
    from indexer.generations.tables import Tables

    index = Index.open(plain)
    generation = index.generation
    shutil.rmtree(generation / "tables")
    Tables(generation, replace(index.vectors, dimension=other_dimension))
    write_checksums(generation, None)
    for mode in ("hybrid", "text"):
        with pytest.raises(IndexDamagedError, match="columns"):
            package.open(plain).search("cat", mode=mode)


def test_windows_has_its_own_configuration_folder(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("APPDATA", str(tmp_path / "roaming"))
    assert trust_file() == Path(tmp_path, "roaming", "cdesearch", "trusted.json")
    assert os.environ["XDG_CONFIG_HOME"] not in str(trust_file())


@pytest.mark.parametrize("address", ["s3://evil-bucket", "/another/folder/", "az://evil-container", "file:///etc/"])
def test_a_table_with_data_outside_the_index_is_refused_before_lance_opens_it(plain, tmp_path, address):
    """A shallow clone of Lance: without the check, LanceDB looks up the host of the bucket."""
    import lancedb

    tables = Index.open(plain).generation / "tables"
    away = tmp_path / "a-folder-whose-name-is-longer-than-every-address"
    (tables / "chunks.lance").rename(away)
    lancedb.connect(tables).clone_table("chunks", str(away))
    (manifest,) = tables.rglob("chunks.lance/_versions/*.manifest")
    named = str(away).encode()
    forged = manifest.read_bytes().replace(named, address.encode().ljust(len(named), b"x"))
    assert address.encode() in forged
    manifest.write_bytes(forged)
    write_checksums(tables.parent, None)
    for mode in ("hybrid", "text"):
        with pytest.raises(IndexUntrustedError, match="outside the index"):
            package.open(plain).search("cat", mode=mode)
    with pytest.raises(IndexUntrustedError):
        build([plain], Options(), Silent())


@pytest.mark.parametrize("cut", [0, 1, 15, 16, 40, 200])
def test_a_manifest_of_lance_that_is_cut_is_damaged(plain, cut):
    manifest = next(Index.open(plain).generation.rglob("chunks.lance/_versions/*.manifest"))
    manifest.write_bytes(manifest.read_bytes()[:cut])
    with pytest.raises(IndexDamagedError):
        package.open(plain).search("cat", mode="text")


def test_an_unknown_table_is_refused(plain):
    (Index.open(plain).generation / "tables" / "__manifest.lance").mkdir()
    with pytest.raises(IndexUntrustedError, match="not a table of an index"):
        Index.open(plain)


def confirm_some(place, first):
    for number in range(first, first + 10):
        confirm(place / str(number), TrustRequest("/some/model"))


@pytest.mark.slow
def test_nothing_is_lost_if_several_processes_confirm_at_once(tmp_path):
    processes = [
        multiprocessing.get_context("spawn").Process(target=confirm_some, args=(tmp_path, first))
        for first in range(0, 60, 10)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 6
    for number in range(60):
        check_confirmed(tmp_path / str(number), TrustRequest("/some/model"))
