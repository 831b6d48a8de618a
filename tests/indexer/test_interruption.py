import shutil
import sys

import pytest
from built import assert_same, contents, make_index, stored_tokens

from cdesearch.encode.backends.onnx import OnnxRuntime
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import IndexNotFoundError
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.generations.tables import Tables
from indexer.workers import process


def test_ctrl_c_keeps_what_is_embedded_and_the_next_run_continues(docs, run, monkeypatch):
    run(context_size=1)
    undisturbed, tokens = contents(docs), stored_tokens(docs)
    shutil.rmtree(docs / ".cdesearch")
    monkeypatch.setattr(OnnxRuntime, "tokens_per_batch", 128)
    real, embedded = Encoder.stream, 0

    def counted(self, *arguments):
        nonlocal embedded
        for places, *found in real(self, *arguments):
            if embedded >= stop_at:
                raise KeyboardInterrupt
            embedded += len(places)
            yield places, *found

    monkeypatch.setattr(Encoder, "stream", counted)
    stop_at = 4
    with pytest.raises(KeyboardInterrupt):
        run(context_size=1)
    stop_at, before = 10_000, embedded
    report = run(context_size=1)
    assert report.embedded == report.chunks - before
    assert embedded == report.chunks, "nothing was embedded twice"
    assert_same(undisturbed, contents(docs))
    assert stored_tokens(docs) == tokens and all(tokens.values())


class Stopped(Silent):
    """Stops a run like Ctrl-C when it begins to embed chunks; records the totals of the stages before."""

    def __init__(self):
        self.totals = {}

    def stage(self, name, total):
        self.totals[name] = total
        if name == "Embedding":
            raise KeyboardInterrupt
        return super().stage(name, total)


def test_a_first_build_stopped_before_its_first_chunk_keeps_the_vectors_of_its_context(docs, tiny_checkpoint):
    first, second = Stopped(), Stopped()
    for stopped in (first, second):
        with pytest.raises(KeyboardInterrupt):
            make_index([docs], stopped, model=tiny_checkpoint)
    with pytest.raises(IndexNotFoundError, match="Repeat the `cdesearch index` command that began it"):
        Index.open(docs)
    assert first.totals["Embedding the context"] > 0
    assert second.totals.keys() == {"Looking for files", "Reading", "Embedding"}, "the context is not made twice"


def test_a_change_that_is_taken_back_after_a_stopped_update_leaves_nothing_behind(docs, run, monkeypatch):
    run()
    undisturbed, before = contents(docs), (docs / "03.md").read_text()
    (docs / "03.md").write_text("A penguin has come instead.")
    with monkeypatch.context() as patched:
        patched.setattr(Tables, "write_documents", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run()
    (docs / "03.md").write_text(before)
    run()
    assert_same(undisturbed, contents(docs))


CHANGING = """
from pathlib import Path
from indexer.workers import worker

real = worker.hash_contents


def hash_then_change(stream):
    digest = real(stream)
    if stream.read() == b'{"text": "the cat"}\\n':
        Path(%r).write_text('{"text": "the cat"}\\n{"text": "the dog"}\\n')
    stream.seek(0)
    return digest


worker.hash_contents = hash_then_change
worker.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["news.txt", "news.jsonl"])
def test_a_file_that_changes_while_it_is_read_is_read_again(docs, run, name, monkeypatch):
    file = docs / name
    file.write_text('{"text": "the cat"}\n')
    with monkeypatch.context() as during:
        during.setattr(process, "COMMAND", (sys.executable, "-P", "-c", CHANGING % str(file)))
        run()
    assert "dog" in file.read_text()
    assert run().changed
    assert Index.open(docs).chunks.count_rows(f"path = '{name}' AND text LIKE '%dog%'") == 1
    assert not run().changed
