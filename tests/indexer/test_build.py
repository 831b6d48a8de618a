import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from cdesearch.document_context import add_document, to_unit
from cdesearch.encoder import Encoder, load_encoder
from cdesearch.errors import CdesearchError, IndexBusyError, IndexDamagedError, IndexMismatchError, SourceError
from cdesearch.index import Index
from cdesearch.onnx_runtime import OnnxRuntime
from cdesearch.search import Searcher
from cdesearch.statistics import whitening
from indexer import spool
from indexer.build import build
from indexer.formats.records import Columns
from indexer.generation import locked
from indexer.progress import Silent
from indexer.read import hash_contents
from indexer.settings import Options
from indexer.write import Tables

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(12):
        word = WORDS[number % len(WORDS)]
        (folder / f"{number:02}.md").write_text(f"# About {word} {number}\n\n" + f"the {word} is in the house. " * 8)
    return folder


@pytest.fixture
def run(docs, tiny_checkpoint):
    def run(**options):
        return build([docs], Options(model=tiny_checkpoint, **options), Silent())

    return run


def contents(docs):
    table = Index.open(docs).chunks.to_arrow().sort_by("id")
    return table.drop_columns("vector"), np.stack(table["vector"].to_numpy())


def assert_same(one, other):
    assert one[0].equals(other[0])
    np.testing.assert_allclose(one[1], other[1], atol=1e-5)


def test_build_and_search_in_every_mode(docs, run, tiny_encoder):
    report = run()
    assert report.changed and report.n_documents == 12 and report.embedded == report.n_chunks
    searcher = Searcher(Index.open(docs), tiny_encoder)
    for mode in ("hybrid", "dense", "text"):
        hits = searcher.search("bread", 3, mode)
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert "bread" in searcher.search("bread", 1, "text")[0].chunk.text
    assert {hit.chunk.path for hit in searcher.search("house", 50, path="0[12].md")} == {"01.md", "02.md"}


def test_same_folder_same_seed_same_model_same_vectors(docs, run):
    run()
    first, fingerprint = contents(docs), Index.open(docs).manifest.context_fingerprint
    run(rebuild=True)
    assert Index.open(docs).manifest.context_fingerprint == fingerprint
    assert_same(first, contents(docs))
    run(rebuild=True, seed=1, context_size=4)
    assert Index.open(docs).manifest.context_fingerprint != fingerprint


def test_an_update_touches_only_what_changed(docs, run):
    n_chunks = run().n_chunks
    before = Index.open(docs)
    removed = before.chunks.count_rows("path = '00.md'")
    fingerprint = before.manifest.context_fingerprint
    assert not run().changed
    (docs / "new.md").write_text("the moon is new")
    (docs / "00.md").unlink()
    (docs / "01.md").rename(docs / "renamed.md")
    (docs / "02.md").touch()
    report = run()
    assert report.embedded == 1 and report.n_documents == 12
    assert report.n_chunks == n_chunks - removed + 1
    after = Index.open(docs)
    assert after.manifest.context_fingerprint == fingerprint
    paths = set(after.chunks.to_arrow()["path"].to_pylist())
    assert {"new.md", "renamed.md"} <= paths and not {"00.md", "01.md"} & paths
    assert before.chunks.count_rows() == n_chunks, "the generation that a reader has open stays whole"


def long_text(words):
    return "# Long\n\n" + "\n\n".join(f"## Part {number}\n\n" + f"the {word} {number} " * 6 for number, word in words)


def test_an_edit_moves_all_chunks_of_its_document_and_embeds_one(docs, run, tiny_encoder):
    words = list(enumerate(WORDS))
    (docs / "long.md").write_text(long_text(words))
    run()
    (docs / "long.md").write_text(long_text([*words[:4], (4, "stone"), *words[5:]]))
    report = run()
    index = Index.open(docs)
    rows = index.chunks.search().where("path = 'long.md'").limit(100).to_arrow()
    assert report.embedded == 1 and rows.num_rows > 3
    own = tiny_encoder.encode(rows["text"].to_pylist(), "document", index.context)
    expected = add_document(own, tiny_encoder.config.document_weight)
    np.testing.assert_allclose(np.stack(rows["vector"].to_numpy()), expected, atol=1e-4)


@pytest.mark.parametrize("column", [None, "page"])
def test_records_that_are_chunks_of_one_document_know_it(tmp_path, tiny_checkpoint, tiny_encoder, column):
    def write(*texts):
        names = [(0, 0), (0, 1), (0, 2), (1, 0)]
        parts = [{"_id": f"{page}::{part}"} if column is None else {"_id": part, "page": page} for page, part in names]
        rows = [row | {"text": text} for row, text in zip(parts, texts, strict=True)]
        (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
        return build([tmp_path], Options(model=tiny_checkpoint, columns=Columns(document=column)), Silent())

    report = write("the cat", "the dog", "the moon", "the river")
    assert (report.n_documents, report.n_chunks) == (2, 4)
    assert write("the cat", "the dog", "the stone", "the river").embedded == 1
    index = Index.open(tmp_path)
    rows = index.chunks.search().where("document_id = 'corpus.jsonl#0'").limit(10).to_arrow()
    own = tiny_encoder.encode(rows["text"].to_pylist(), "document", index.context)
    expected = add_document(own, tiny_encoder.config.document_weight)
    np.testing.assert_allclose(np.stack(rows["vector"].to_numpy()), expected, atol=1e-4)
    records = {str(hit.chunk.record) for hit in Searcher(index).search("stone", mode="text")}
    assert records == {"0::2" if column is None else "2"}


def test_records_that_share_an_id_far_apart_keep_their_vectors(tmp_path, tiny_checkpoint, tiny_encoder):
    def write(*texts):
        rows = [{"_id": name, "text": text} for name, text in zip("aba", texts, strict=True)]
        (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))

    write("the cat", "the dog", "the moon and the river")
    build([tmp_path], Options(model=tiny_checkpoint), Silent())
    write("the cat", "the dog", "the bread")
    build([tmp_path], Options(model=tiny_checkpoint), Silent())
    index = Index.open(tmp_path)
    rows = index.chunks.to_arrow()
    own = tiny_encoder.encode(rows["text"].to_pylist(), "document", index.context)
    np.testing.assert_allclose(to_unit(np.stack(rows["vector"].to_numpy())), own, atol=1e-4)


def test_refresh_samples_anew_and_keeps_first_stage_vectors(docs, run):
    run(context_size=100)
    old = Index.open(docs).context
    (docs / "new.md").write_text("the moon is new")
    run(refresh_context=True)
    new = Index.open(docs).context
    assert new.fingerprint != old.fingerprint and len(new.vectors) == len(old.vectors) + 1
    known = dict(zip(old.content_hashes, old.vectors, strict=True))
    for content, vector in zip(new.content_hashes, new.vectors, strict=True):
        np.testing.assert_array_equal(vector, known.get(content, vector))


def test_the_disk_does_not_grow_with_updates(docs, run):
    run()
    sizes = []
    for number in range(8):
        (docs / "changing.md").write_text(f"the moon {number}")
        run()
        sizes.append(Index.open(docs).size_bytes())
    assert sizes[-1] < sizes[1] * 1.2
    assert len(list((docs / ".cdesearch" / "generations").iterdir())) == 2


def test_ctrl_c_keeps_what_is_embedded_and_the_next_run_continues(docs, run, monkeypatch):
    run(context_size=1)
    undisturbed = contents(docs)
    shutil.rmtree(docs / ".cdesearch")
    monkeypatch.setattr(OnnxRuntime, "tokens_per_batch", 128)
    real, embedded = Encoder.stream, 0

    def counted(self, *arguments):
        nonlocal embedded
        for places, vectors in real(self, *arguments):
            if embedded >= stop_at:
                raise KeyboardInterrupt
            embedded += len(places)
            yield places, vectors

    monkeypatch.setattr(Encoder, "stream", counted)
    stop_at = 4
    with pytest.raises(KeyboardInterrupt):
        run(context_size=1)
    stop_at, before = 10_000, embedded
    report = run(context_size=1)
    assert report.embedded == report.n_chunks - before
    assert embedded == report.n_chunks, "nothing was embedded twice"
    assert_same(undisturbed, contents(docs))


def test_a_build_stopped_while_it_writes_goes_on_with_the_same_statistics(docs, run, monkeypatch):
    monkeypatch.setattr(spool, "WINDOW", 8)
    run()
    undisturbed = contents(docs)
    shutil.rmtree(docs / ".cdesearch")
    real, written = Tables.add, 0

    def once(self, *arguments):
        nonlocal written
        if written == 2:
            raise KeyboardInterrupt
        written += 1
        real(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Tables, "add", once)
        with pytest.raises(KeyboardInterrupt):
            run()
    (docs / "11.md").unlink()
    assert run().embedded == 0
    one, other = (
        dict(zip(rows["id"].to_pylist(), vectors, strict=True)) for rows, vectors in (undisturbed, contents(docs))
    )
    assert other.keys() < one.keys()
    for chunk, vector in other.items():
        np.testing.assert_allclose(vector, one[chunk], atol=1e-5)


def test_statistics_come_from_every_chunk_and_not_from_the_sample(docs, closed_checkpoint):
    build([docs], Options(model=closed_checkpoint, context_size=4), Silent())
    context, before = Index.open(docs).context, contents(docs)
    texts = before[0]["text"].to_pylist()
    encoder = load_encoder(closed_checkpoint)
    bare = replace(context, shift=np.zeros_like(context.shift), projection=np.eye(len(context.shift), dtype=np.float32))
    shift, projection = whitening(encoder.encode(texts, "document", bare), encoder.config.statistics)
    np.testing.assert_allclose(context.shift, shift, atol=1e-5)
    np.testing.assert_allclose(context.projection, projection, atol=1e-4)
    build([docs], Options(model=closed_checkpoint, context_size=4, seed=1, rebuild=True), Silent())
    assert Index.open(docs).context.chunk_ids != context.chunk_ids
    assert_same(before, contents(docs))


def test_kill_at_any_moment_leaves_an_index_that_the_next_run_completes(docs, run, tiny_checkpoint, tmp_path):
    run()
    undisturbed = contents(docs)
    shutil.rmtree(docs / ".cdesearch")
    program = (
        "import sys; from pathlib import Path; from indexer.build import *; from indexer.progress import Silent\n"
        "build([Path(sys.argv[1])], Options(model=Path(sys.argv[2])), Silent())"
    )
    command = [sys.executable, "-c", program, str(docs), str(tiny_checkpoint)]
    for delay in (0.7, 1.0, 1.3, 1.6):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
    run()
    assert_same(undisturbed, contents(docs))


def test_a_big_corpus_goes_through_in_windows(docs, run, monkeypatch):
    run()
    whole = contents(docs)
    monkeypatch.setattr(spool, "WINDOW", 3)
    run(rebuild=True)
    assert_same(whole, contents(docs))


def test_records_become_documents(tmp_path, tiny_checkpoint):
    rows = [{"_id": str(number), "title": word, "text": f"the {word}"} for number, word in enumerate(WORDS)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    report = build([tmp_path], Options(model=tiny_checkpoint), Silent())
    assert report.n_documents == report.n_chunks == len(WORDS)


def test_unreadable_files_are_named_and_the_others_go_in(docs, run):
    (docs / "bad.md").write_bytes(b"\xff\xff")
    report = run()
    assert [(item.path, item.reason) for item in report.skipped] == [("bad.md", "not UTF-8 text")]
    assert report.n_documents == 12
    again = run()
    assert not again.changed and again.skipped == report.skipped


@pytest.mark.parametrize("make", [lambda folder: None, lambda folder: (folder / "bad.md").write_bytes(b"\xff")])
def test_nothing_to_index_is_an_error(tmp_path, tiny_checkpoint, make):
    make(tmp_path)
    with pytest.raises(SourceError, match="Nothing readable"):
        build([tmp_path], Options(model=tiny_checkpoint), Silent())


def test_a_missing_folder_leaves_nothing_behind(tmp_path, tiny_checkpoint):
    with pytest.raises(SourceError, match="no folder"):
        build([tmp_path / "nowhere"], Options(model=tiny_checkpoint), Silent())
    assert list(tmp_path.iterdir()) == []


def test_two_builds_at_once(docs, run):
    with locked(docs / ".cdesearch", wait=False), pytest.raises(IndexBusyError, match=f"process {os.getpid()}"):
        run()


def editions(docs):
    texts = Index.open(docs).chunks.to_arrow()["text"].to_pylist()
    return {word for text in texts for word in ("one", "two") if f"edition {word}" in text}


def test_queries_during_an_update_see_the_old_or_the_new_whole(docs, run):
    for file in docs.iterdir():
        file.write_text("edition one " + file.read_text())
    run()
    for file in docs.iterdir():
        if file.is_file():
            file.write_text(file.read_text().replace("one", "two"))
    update = threading.Thread(target=run)
    update.start()
    seen = []
    while not seen or update.is_alive():
        seen.append(editions(docs))
    update.join()
    assert seen[0] == {"one"} and all(len(found) == 1 for found in seen)
    assert editions(docs) == {"two"}


@pytest.mark.parametrize("name", ["news.txt", "news.jsonl"])
def test_a_file_that_changes_while_it_is_read_is_read_again(docs, run, name, monkeypatch):
    file = docs / name
    file.write_text('{"text": "the cat"}\n')

    def hash_then_change(stream):
        digest = hash_contents(stream)
        if stream.read() == b'{"text": "the cat"}\n':
            file.write_text('{"text": "the cat"}\n{"text": "the dog"}\n')
        stream.seek(0)
        return digest

    with monkeypatch.context() as during:
        during.setattr("indexer.build.hash_contents", hash_then_change)
        run()
    assert run().changed
    assert Index.open(docs).chunks.count_rows(f"path = '{name}' AND text LIKE '%dog%'") == 1
    assert not run().changed


def test_records_are_read_whatever_the_size_of_their_file(docs, run):
    (docs / "many.jsonl").write_text("\n".join(json.dumps({"text": f"the moon {number}"}) for number in range(50)))
    (docs / "long.md").write_text("the moon " * 100)
    report = run(max_file_bytes=500)
    assert report.n_documents == 12 + 50
    assert [item.path for item in report.skipped] == ["long.md"]


def test_another_model_is_refused_by_name(docs, run, closed_checkpoint):
    run()
    with pytest.raises(IndexMismatchError, match="rebuild"):
        build([docs], Options(model=closed_checkpoint), Silent())
    build([docs], Options(model=closed_checkpoint, rebuild=True), Silent())


@pytest.mark.parametrize("victim", ["manifest.json", "context.safetensors", "tables/chunks.lance"])
def test_a_damaged_index_says_how_to_mend_it(docs, run, victim, tiny_encoder):
    run()
    path = Index.open(docs).generation / victim
    shutil.rmtree(path) if path.is_dir() else path.write_text("{")
    with pytest.raises((IndexDamagedError, CdesearchError), match="--rebuild"):
        Searcher(Index.open(docs), tiny_encoder).search("moon")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(docs, run):
    docs.chmod(0o500)
    with pytest.raises(CdesearchError, match="--index"):
        run()


def test_a_full_disk_keeps_the_old_index(docs, tiny_checkpoint, tmp_path):
    mount = tmp_path / "small"
    mount.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(mount)], capture_output=True, check=False
    ).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        options = Options(model=tiny_checkpoint, index=mount / "index")
        build([docs], options, Silent())
        before = Index(mount / "index").manifest.n_chunks
        (mount / "ballast").write_bytes(b"x" * (shutil.disk_usage(mount).free - 20_000))
        (docs / "new.md").write_text("the moon is new " * 2000)
        with pytest.raises(CdesearchError, match="full"):
            build([docs], options, Silent())
        assert Index(mount / "index").manifest.n_chunks == before
        (mount / "ballast").unlink()
        assert build([docs], options, Silent()).changed
    finally:
        subprocess.run(["umount", "--lazy", str(mount)], check=True)


def test_paths_with_quotes_and_newlines(docs, run, tiny_encoder):
    (docs / 'it\'s\na "name".md').write_text("the stone is odd")
    run()
    (docs / 'it\'s\na "name".md').write_text("the stone is odder")
    assert run().embedded == 1
    hits = Searcher(Index.open(docs), tiny_encoder).search("odder", 1, "text")
    assert hits[0].chunk.path == 'it\'s\na "name".md'
