"""The steps of a build on a cluster, without a cluster, compared with those of a build on one machine."""

import numpy as np
import pytest
from chunk_rows import rows_of
from read_by_workers import reading, sources_of

from cdesearch.context.sample import choose_chunks, join_ranks
from cdesearch.errors import ClusterError, ModelError
from indexer.cluster import places
from indexer.cluster import reading as cluster_reading
from indexer.cluster.embedding import Embedder, ModelToLoad
from indexer.cluster.parts import PARTS, VECTORS, Part, Parts
from indexer.cluster.places import locate, places_of, save_vectors, texts_of, vectors_at
from indexer.cluster.reading import Group, Ranking, groups_of, read_group
from indexer.embedding import spool as spools
from indexer.embedding.spool import KEY, WINDOW, Spool

SIZES = (3, WINDOW + 5, 0, 2)  # of parts, in chunks
WORDS = ("cat", "dog", "moon", "water", "bread")


def text_of(number):
    return f"the {WORDS[number % 5]} {number % 700}"  # every text but a few occurs more than once


@pytest.fixture
def parts(tmp_path):
    (tmp_path / PARTS).mkdir()
    listed, start = [], 0
    for number, size in enumerate(SIZES):
        spool = Spool(tmp_path / PARTS / f"{number}.arrow")
        rows = [(f"{number}.md", f"{number}.md", text_of(start + row)) for row in range(size)]
        if rows:
            spool.add(rows_of(rows))
        spool.close()
        listed.append(Part(str(number), size))
        start += size
    return Parts(tmp_path, listed, 64)


def embed(parts, whereabouts, todo):
    for one in todo:
        texts = texts_of(parts, one)
        vectors = np.array([[float(len(text)), float(text.split()[2])] for text in texts.values()], np.float32)
        save_vectors(parts.folder / VECTORS / f"{whereabouts.files[one.file]}.arrow", list(texts), vectors)
    return sum(one.n_texts for one in todo)


def assert_every_chunk_has_its_vector(parts, files):
    vectors = vectors_at(parts.folder, files, places_of(parts.folder, 0, parts.count()))
    expected = [[len(text_of(number)), number % 700] for number in range(parts.count())]
    np.testing.assert_array_equal(vectors, expected)


def test_windows_are_those_of_one_spool(parts, tmp_path, monkeypatch):
    monkeypatch.setattr(spools, "WINDOW", parts.window)
    spool = Spool(tmp_path / "all.arrow")
    for part in parts.parts:
        for window in Parts(parts.folder, [part], WINDOW).windows():
            spool.add(window.drop_columns([KEY]))
    spool.close()
    assert [w.to_pylist() for w in parts.windows()] == [w.to_pylist() for w in spool.windows()]
    assert parts.count() == spool.count() == sum(SIZES)
    third = next(parts.in_windows(2, 3).windows(["id"]))
    assert third.to_pylist() == list(spool.windows(["id"]))[2].to_pylist()
    assert next(parts.windows(["text", "id"])).equals(next(spool.windows(["text", "id"])))


def test_every_text_is_embedded_once_and_every_chunk_finds_its_vector(parts):
    keys = [key for window in parts.windows([KEY]) for key in window[KEY].to_pylist()]
    found = locate(parts, keys[5:8])
    assert embed(parts, found, found.todo) == len(set(keys))
    assert_every_chunk_has_its_vector(parts, found.files)
    fitted = vectors_at(parts.folder, found.files, found.fitted)
    np.testing.assert_array_equal(fitted, [[len(text_of(n)), n] for n in (5, 6, 7)])


def test_vectors_of_a_stopped_build_are_used_although_the_files_have_another_order(parts):
    found = locate(parts, [])
    before = embed(parts, found, found.todo[:4])
    others = Parts(parts.folder, [parts.parts[1], parts.parts[0], *parts.parts[2:]], 100)
    again = locate(others, [])
    n_texts = sum(one.n_texts for one in found.todo)
    assert embed(others, again, again.todo) == n_texts - before
    restored = locate(parts, [])
    assert not restored.todo
    assert_every_chunk_has_its_vector(parts, restored.files)


def test_the_chunks_with_the_lowest_ranks_of_all_parts_are_the_sample_of_one_machine(parts):
    rows = [
        row
        for window in parts.windows(["id", "document_id", KEY])
        for row in zip(*(window[name].to_pylist() for name in window.schema.names), strict=True)
    ]
    joined, bound = {}, None
    for part in parts.parts:
        ranks = cluster_reading._ranks(Parts(parts.folder, [part], WINDOW), Ranking(40, 7, bound))
        joined = join_ranks(joined, ranks, 40)
        bound = max(joined.values()) if len(joined) == 40 else None
    assert sorted(chunk for _, chunk in joined.values()) == choose_chunks(rows, 40, 7)


def test_a_group_that_was_read_is_not_read_again(tmp_path, tiny_encoder):
    (tmp_path / "docs").mkdir()
    (tmp_path / "cluster").mkdir()
    group = Group(0, tuple(sources_of(tmp_path / "docs", ["the cat\n" * 50, "the dog", "\0\1\2" * 50])))
    ranking = Ranking(10, 0, None)
    first = read_group(tmp_path / "cluster", group, reading(tiny_encoder.tokenizer), ranking)
    assert first.part.n_chunks == sum(first.documents["n_chunks"].to_pylist()) > 2
    for source in group.sources:
        source.file.unlink()
    second = read_group(tmp_path / "cluster", group, reading(tiny_encoder.tokenizer), ranking)
    assert (second.part, second.files, second.ranks) == (first.part, first.files, first.ranks)
    assert second.documents.equals(first.documents)


@pytest.mark.parametrize("damaged", ["*.json", "*.arrow"])
@pytest.mark.parametrize("size", [0, 100])
def test_a_group_of_which_a_file_was_cut_is_read_again(tmp_path, tiny_encoder, damaged, size):
    (tmp_path / "docs").mkdir()
    (tmp_path / "cluster").mkdir()
    group = Group(0, tuple(sources_of(tmp_path / "docs", ["the cat\n" * 50, "the dog"])))
    ranking = Ranking(10, 0, None)
    first = read_group(tmp_path / "cluster", group, reading(tiny_encoder.tokenizer), ranking)
    (file,) = (tmp_path / "cluster" / PARTS).glob(damaged)
    file.write_bytes(file.read_bytes()[:size])
    again = read_group(tmp_path / "cluster", group, reading(tiny_encoder.tokenizer), ranking)
    assert (again.part, again.ranks) == (first.part, first.ranks)


def test_vectors_of_which_a_file_was_cut_are_made_again(parts):
    found = locate(parts, [])
    embed(parts, found, found.todo)
    cut = parts.folder / VECTORS / f"{found.files[1]}.arrow"
    cut.write_bytes(cut.read_bytes()[:50])
    places._open.cache_clear()  # another process has an empty cache
    again = locate(parts, [])
    assert embed(parts, again, again.todo) == found.todo[1].n_texts
    assert_every_chunk_has_its_vector(parts, again.files)


def test_groups_keep_the_order_of_files_and_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_reading, "GROUP_BYTES", 50)
    monkeypatch.setattr(cluster_reading, "GROUP_FILES", 3)
    sources = sources_of(tmp_path, ["x" * size for size in (10, 10, 10, 10, 45, 80, 1)])
    groups = list(groups_of(sources))
    assert [[source.size for source in group.sources] for group in groups] == [[10, 10, 10], [10], [45], [80], [1]]
    assert [group.number for group in groups] == list(range(5))


def test_a_machine_that_does_not_see_the_index_says_so(tmp_path, tiny_encoder):
    with pytest.raises(ClusterError, match="does not see"):
        read_group(tmp_path / "absent", Group(0, ()), reading(tiny_encoder.tokenizer), Ranking(1, 0, None))


def test_a_worker_starts_without_its_model_and_reports_in_its_first_task_what_is_wrong_with_it(parts, tmp_path):
    worker = Embedder(ModelToLoad(tmp_path / "no model", "cpu", False, "", "fp32"))
    todo = locate(parts, []).todo[0]
    with pytest.raises(ModelError, match="no model"):
        worker.embed(parts, todo, "a", None)
