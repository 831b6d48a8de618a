"""Indexes whose vectors come from a server: built, continued, updated and searched over real HTTP."""

import json
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from built import make_index, write_documents
from command import cdesearch
from embedding_server import serving
from notes import Notes
from random_biencoder import biencoder_folder

import cdesearch as package
from cdesearch.context.vectors import to_unit
from cdesearch.encode.backends import endpoint
from cdesearch.encode.load import load_encoder
from cdesearch.encode.remote import PROBES
from cdesearch.errors import IndexMismatchError, InputError, ModelServerError
from cdesearch.models.biencoder.family import BiencoderFamily
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.store.index import Index

QUERIES = ["the cat in the house", "water and the river", "moon light", "engine 5"]


@pytest.fixture(autouse=True)
def _short_waits(own_config, monkeypatch):
    monkeypatch.setattr(endpoint, "FIRST_WAIT", 0.01)


def run(docs, server, progress=None, **options):
    return make_index([docs], progress, model=EndpointModel(server.url, "tiny"), **options)


def other_model(texts):
    """A model that computes other vectors of the same dimension."""
    numbers = [np.random.default_rng(list(text.encode())).normal(size=16) for text in texts]
    return to_unit(np.stack(numbers).astype(np.float32))


def hits_of(index, **options):
    with package.open(index, **options) as opened:
        return [
            [(hit.chunk.id, round(hit.score, 3)) for hit in opened.search(query, mode=mode)]
            for query in QUERIES
            for mode in ("dense", "hybrid")
        ]


@pytest.mark.slow
@pytest.mark.parametrize("plain", [True, False])
def test_the_hits_are_those_of_the_same_model_without_a_server(tmp_path, plain, monkeypatch):
    pytest.importorskip("transformers")
    monkeypatch.setattr(BiencoderFamily, "is_exported", False)  # the vectors of an int8 export depend on the batch
    folder = biencoder_folder(tmp_path / "model")
    encoder = load_encoder(folder, plain=True)
    docs = write_documents(tmp_path / "docs")
    for file in docs.iterdir():
        file.write_text(file.read_text()[:90])  # one chunk by the tokens of either tokenizer
    make_index([docs], model=folder, plain=plain, index=tmp_path / "direct")
    with serving(lambda texts: encoder.encode(texts, "document", None)) as server:
        run(docs, server, plain=plain, index=tmp_path / "served")
        assert Index(tmp_path / "served").manifest.added_context is not plain
        if plain:
            found, expected = hits_of(tmp_path / "served"), hits_of(tmp_path / "direct")
            for hits, wanted in zip(found, expected, strict=True):
                assert [chunk for chunk, _ in hits] == [chunk for chunk, _ in wanted]
                np.testing.assert_allclose([score for _, score in hits], [score for _, score in wanted], atol=2e-3)
            return
        pooled = encoder.encode([chunk["text"] for chunk in _chunks(tmp_path / "served")], "document", None)
        context = Index(tmp_path / "served").context
        assert not np.allclose(context.whitening.projection, np.eye(pooled.shape[1]), atol=1e-3)
        found = to_unit(np.stack([chunk["vector"] for chunk in _chunks(tmp_path / "served")]))
        np.testing.assert_allclose(found, context.whitening.apply(pooled), atol=5e-3)  # eight bits
        assert hits_of(tmp_path / "served")[0]


def _chunks(index):
    return Index(index).chunks.to_arrow().sort_by("id").to_pylist()


def test_queries_and_documents_get_their_prefixes_and_an_update_keeps_them(docs, server):
    model = EndpointModel(server.url, "tiny", "query: ", "passage: ")
    make_index([docs], model=model)
    (docs / "late.md").write_text("# Late\n\nthe late bread")
    make_index([], index=docs / ".cdesearch")
    package.open(docs).search("the cat")
    texts = [text for texts in server.requests for text in texts if text not in PROBES]
    assert [text for text in texts if not text.startswith("passage: ")] == ["query: the cat"]
    assert any(text.endswith("the late bread") for text in texts)


@pytest.mark.parametrize("has_changed", [False, True])
def test_a_build_that_fails_continues_unless_the_model_has_changed_meanwhile(docs, server, monkeypatch, has_changed):
    monkeypatch.setattr(endpoint, "TEXTS", 2)
    served, notes = [], Notes()
    server.misbehave = lambda handler, texts: served.append(1) or (len(served) > 5 and handler.reply(401, {}))
    with pytest.raises(ModelServerError, match=r"refused the key .* The same command continues, and reuses every"):
        run(docs, server)
    before = len(set(server.embedded) - set(PROBES))
    assert before
    server.misbehave = lambda handler, texts: False
    if has_changed:
        server.encode = other_model
    report = run(docs, server, notes)
    assert report.embedded == report.chunks - (0 if has_changed else before)
    assert any("has changed since this build began" in line for line in notes.lines) == has_changed
    chunks = [text for text in server.embedded if text not in PROBES]
    assert has_changed or len(chunks) == len(set(chunks)) == report.chunks
    assert hits_of(docs)


@pytest.mark.slow
def test_after_ctrl_c_only_what_was_under_way_is_asked_again(docs, server):
    release, asked, lock = threading.Event(), [], threading.Lock()

    def answer_two(handler, texts):
        with lock:
            asked.extend([] if set(texts) == set(PROBES) else [texts])
            is_held = len(asked) > 2
        if is_held:
            release.wait(30)

    server.misbehave = answer_two
    for number in range(100):
        (docs / f"more{number}.md").write_text(f"the stone {number} and the light")
    command = [sys.executable, "-m", "cdesearch", "index", str(docs), "--model", server.url, "--model-name", "tiny"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while len(asked) < 4 or len(server.embedded) < len(PROBES) + sum(map(len, asked[:2])):
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130 and "continues" in errors and "Traceback" not in errors, errors
    kept = set(server.embedded) - set(PROBES)
    release.set()
    server.misbehave = lambda handler, texts: False
    server.embedded.clear()
    report = run(docs, server)
    assert report.embedded == report.chunks - len(kept) == sum(map(len, asked[2:4]))
    assert not kept & (set(server.embedded) - set(PROBES))


def test_the_file_of_a_text_that_the_server_refuses_is_named(docs, server):
    server.misbehave = lambda handler, texts: (
        any("moon" in text for text in texts) and handler.reply(413, {"error": "too long"})
    )
    with pytest.raises(ModelServerError, match=r"^(03|12)\.md cannot be embedded\. .*refuses a text of \d+ characters"):
        run(docs, server)
    server.misbehave = lambda handler, texts: False
    server.embedded.clear()
    assert run(docs, server, exclude=("03.md",)).documents == 11


@pytest.mark.parametrize("change", ["vectors", "dimension"])
def test_another_model_behind_the_same_name_is_refused_until_a_rebuild(docs, server, change):
    run(docs, server)
    wider = lambda texts: np.concatenate([other_model(texts)] * 2, axis=1)  # noqa: E731
    server.encode = other_model if change == "vectors" else wider
    index = docs / ".cdesearch"
    refused = pytest.raises(IndexMismatchError, match=r"is no longer the one that built the index.*--rebuild --index")
    with refused:
        package.open(docs).search("the cat")
    (docs / "late.md").write_text("the late bread")
    with refused:
        make_index([], index=index)
    assert package.open(docs).search("the cat", mode="text")
    assert not any("late bread" in text for texts in server.requests for text in texts)
    make_index([], index=index, rebuild=True)
    assert Index(index).manifest.served.name == "tiny"
    assert hits_of(docs)[0]


def test_rounding_is_not_another_model(docs, server, tiny_encoder):
    run(docs, server)
    noise = np.random.default_rng(0).normal(size=(1, 16)).astype(np.float32) * 2e-3
    server.encode = lambda texts: tiny_encoder.encode(texts, "document", None) + noise
    assert hits_of(docs)


def test_without_its_server_a_query_ends_with_one_line_and_words_can_be_searched(docs, server, tmp_path):
    run(docs, server)
    gone = server.url
    server.shutdown()
    server.server_close()
    for mode in ("hybrid", "dense"):
        failed = cdesearch("query", "the cat", "--mode", mode, cwd=docs, code=2).stderr
        assert "cannot be reached (Connection refused)" in failed and "search with --mode text" in failed
    assert "cat" in cdesearch("query", "the cat", "--mode", "text", cwd=docs).stdout
    assert "cannot be reached" in cdesearch("index", docs, "--model", gone, cwd=tmp_path, code=2).stderr


def test_a_server_that_has_moved_needs_only_its_new_address(docs, server, tiny_encoder):
    run(docs, server, plain=True)
    with serving(server.encode) as moved:
        with package.open(docs, model=moved.url) as opened:
            assert opened.search("the cat")
        assert len(moved.requests) == 2, "the probes and the query"
        make_index([docs], model=EndpointModel(moved.url))
        manifest = Index(docs / ".cdesearch").manifest
        assert (manifest.model, manifest.served.name, manifest.added_context) == (moved.url, "tiny", False)
        assert not set(moved.embedded) - {*PROBES, "the cat"}, "nothing is embedded again"
        server.requests.clear()
        package.open(docs).search("the cat")
        assert not server.requests


@pytest.mark.slow
def test_the_other_commands_work_on_such_an_index(docs, server, tmp_path):
    for number in range(6):
        (docs / f"guide{number}.md").write_text(f"# Guide\n\n## Stone and bread {number}\n\nthe river has stone.")
    cdesearch("index", docs, "--model", server.url, "--model-name", "tiny", cwd=tmp_path)
    status = json.loads(cdesearch("status", "--json", cwd=docs).stdout)
    assert (status["model"], status["model_name"]) == (server.url, "tiny")
    assert "is sound" in cdesearch("doctor", cwd=docs).stdout
    assert "URL" in cdesearch("models", cwd=docs).stdout
    asked = {"question": "stone in the river", "answers": [{"path": "guide1.md", "phrase": "the river has stone"}]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(asked))
    assert "vectors" in cdesearch("eval", "--questions", tmp_path / "questions.jsonl", cwd=docs).stdout
    cdesearch("index", "--refresh-context", cwd=docs)
    assert cdesearch("query", "the cat", cwd=docs).stdout


def test_a_note_says_that_texts_leave_this_machine_unless_the_server_is_on_it(docs, server):
    notes = Notes()
    run(docs, server, notes)
    assert not any("are sent to" in line for line in notes.lines)
    foreign = server.url.replace("127.0.0.1", "127.1")  # the same address, which does not show that it is local
    make_index([docs], notes, model=EndpointModel(foreign, "tiny"))
    said = re.compile(r"The texts of the indexed files are sent to http://127\.1:\d+, without encryption\.")
    assert [line for line in notes.lines if said.fullmatch(line)]


def test_a_model_on_a_server_needs_a_name_and_a_name_needs_a_server(docs, server, tmp_path, tiny_checkpoint):
    failed = cdesearch("index", docs, "--model", server.url, cwd=tmp_path, code=2).stderr
    assert "--model-name" in failed
    failed = cdesearch("index", docs, "--model-name", "tiny", cwd=tmp_path, code=2).stderr
    assert "--model-name is for a model on a server" in failed
    address = server.url.removeprefix("http://")
    failed = cdesearch("index", docs, "--model", address, "--model-name", "tiny", cwd=tmp_path, code=2).stderr
    assert f"{address} is not a URL. Write the URL with http://" in failed
    with pytest.raises(InputError, match="--query-prefix is for a model on a server"):
        package.build(docs, model=tiny_checkpoint, query_prefix="query: ")
    assert not server.requests
