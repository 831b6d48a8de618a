import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.datasets.dataset import read_dataset
from benchmarks.datasets.download import fetched
from benchmarks.figures.command import analyse
from benchmarks.quality.beir import beir
from benchmarks.quality.measures import compare, measure_run, ranked
from benchmarks.systems.contextual import vectors_in
from benchmarks.systems.late_chunking import _windows
from cdesearch.context.token_weights import TokenFrequencies
from cdesearch.context.vectors import to_unit
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError, SourceError
from tests.conftest import TINY, make_model, make_tokenizer
from trainer.export import export

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone"]


def write_set(folder, *, corpus=None, queries=None, judged=None, header="query-id\tcorpus-id\tscore"):
    (folder / "qrels").mkdir(parents=True)
    corpus = corpus or [{"_id": f"d{n}", "title": word, "text": f"the {word}"} for n, word in enumerate(WORDS)]
    queries = queries or [{"_id": f"q{n}", "text": word} for n, word in enumerate(WORDS)]
    judged = judged or [f"q{n}\td{n}\t1" for n in range(len(WORDS))]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels" / "test.tsv").write_text("\n".join([header, *judged]))
    return folder


def test_a_set_is_read_and_its_chunks_are_grouped(tmp_path):
    corpus = [{"_id": name, "text": name} for name in ("a::0", "a::1", "b::0", "c")]
    judged = ["q0\ta::1\t2", "q1\tc\t0"]
    found = read_dataset(write_set(tmp_path / "x", corpus=corpus, judged=judged))
    assert found.ids == ("a::0", "a::1", "b::0", "c") and found.documents == [[0, 1], [2], [3]]
    assert found.judgements == {"q0": {"a::1": 2}} and list(found.queries) == ["q0"]


def test_halves_of_the_queries_are_the_whole(tmp_path):
    folder = write_set(tmp_path / "x")
    halves = [read_dataset(folder, half).queries for half in ("choose", "report")]
    assert halves[0] | halves[1] == read_dataset(folder).queries and not halves[0].keys() & halves[1].keys()


def test_sizes_that_are_not_the_published_ones_are_noted(tmp_path):
    assert "published 5183/300/339" in read_dataset(write_set(tmp_path / "scifact")).notes[0]


@pytest.mark.parametrize("kind", ["tiny_checkpoint", "joint_checkpoint"])
def test_vectors_that_are_kept_are_of_one_context(tmp_path, kind, request):
    encoder = load_encoder(request.getfixturevalue(kind))
    dataset = read_dataset(write_set(tmp_path / "x"))
    names, equal = list(map(str, range(4))), TokenFrequencies(np.zeros(encoder.config.backbone.vocabulary, int), 0)
    for number in range(2):
        sample = np.random.default_rng(number).normal(size=(4, encoder.dimension)).astype(np.float32)
        context = encoder.make_sample(names, names, sample, equal, seed=0)
        own = encoder.encode(dataset.texts, "document", context)
        for _ in range(2):
            found = vectors_in(context, dataset, encoder, tmp_path / "work")[1]
            np.testing.assert_allclose(found, to_unit(own), atol=1e-6)
    assert len(list((tmp_path / "work").iterdir())) == 4


def test_vectors_that_are_kept_are_of_one_precision(tmp_path):
    """Two exports of the same weights have the same fingerprint."""
    make_tokenizer().save(str(tmp_path / "tokenizer.json"))
    model = make_model(replace(TINY, first_stage="shared"), gate=0.0)
    dataset, encoders = read_dataset(write_set(tmp_path / "x")), {}
    for precision in ("fp32", "int8"):
        export(model, tmp_path / "tokenizer.json", tmp_path / precision, precision)
        encoders[precision] = load_encoder(tmp_path / precision)
        assert encoders[precision].precision == precision
    assert encoders["fp32"].fingerprint == encoders["int8"].fingerprint
    for encoder in encoders.values():
        _, found = vectors_in(None, dataset, encoder, tmp_path / "work")
        np.testing.assert_allclose(found, encoder.encode(dataset.texts, "document", None), atol=1e-6)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"corpus": [{"_id": "a", "text": "x"}, {"_id": "a", "text": "y"}]}, "corpus.jsonl:2 has the id a a second"),
        ({"corpus": [{"_id": "a"}]}, "corpus.jsonl:1 has no 'text'"),
        ({"judged": ["q0\td0\t0"]}, "has no judgement above 0"),
        ({"judged": ["q0\td0"]}, "test.tsv:2 does not have three columns"),
        ({"judged": ["q0\tzzz\t1", "q0\td0\t1"]}, "1 of 2 judgements"),
        ({"header": "a\tb"}, "begins with"),
    ],
)
def test_a_bad_set_is_refused_in_one_line(tmp_path, given, named):
    with pytest.raises(SourceError, match=named):
        read_dataset(write_set(tmp_path / "x", **given))


def test_a_set_is_looked_for_in_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "eval" / "mine").mkdir(parents=True)
    monkeypatch.setenv("CDESEARCH_DATA", str(tmp_path))
    assert fetched("eval/mine", tmp_path / "work") == tmp_path / "eval" / "mine"


def test_the_error_for_an_unknown_set_lists_what_can_be_downloaded(tmp_path):
    with pytest.raises(SourceError, match="scifact"):
        fetched("nowhere", tmp_path)


def test_measures_of_known_rankings():
    judged = {"a": {"x": 1}, "b": {"x": 1, "y": 1}, "c": {"z": 1}}
    found = measure_run(judged, {"a": ["w", "x"], "b": ["x", "y"]})
    np.testing.assert_allclose(found["nDCG@10"], [100 / np.log2(3), 100, 0])
    np.testing.assert_allclose(found["RR@10"], [50, 100, 0])
    np.testing.assert_allclose(found["R@100"], [100, 100, 0])


def test_ties_go_to_the_smaller_id_and_the_querys_own_is_left_out():
    scores = np.array([0.5, 0.9, 0.5, 0.5, 0.1])
    assert ranked(["d", "q", "b", "c", "a"], scores, "q", 3) == ["b", "c", "d"]


def test_a_real_difference_is_distinguished_from_chance():
    random = np.random.default_rng(0)
    other = random.normal(50, 10, 200)
    better = compare(other + random.normal(3, 5, 200), other)
    assert better.p < 0.001 and 0 < better.low < better.difference < better.high
    assert compare(other + random.normal(0, 5, 200), other).p > 0.05


def test_windows_hold_whole_chunks_in_order():
    rows = [[1] * 300, [1] * 200, [1] * 100, [1] * 900]
    assert list(_windows([0, 1, 2, 3], rows)) == [[0, 1], [2], [3]]


def test_systems_are_compared_and_the_report_is_written(tmp_path, tiny_checkpoint, capsys):
    data = [str(write_set(tmp_path / name)) for name in ("one", "two")]
    systems = "bm25,lance,true,random,null,document,dense,hybrid"
    beir(data, systems, tiny_checkpoint, tmp_path, 2, "all", tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    report = json.loads(file.read_text())
    rows = {(row["dataset"], row["system"]): row for row in report["rows"]}
    assert len(rows) == 2 * 8 and rows["one", "cdesearch dense, true context"]["samples"] == 2
    assert rows["one", "BM25 (bm25s)"]["measures"]["nDCG@10"] == 100
    assert rows["two", "BM25 (LanceDB)"]["against"]["bm25"]["difference"] == 0
    assert file.with_suffix(".md").read_text().count("| BM25") == 2
    assert "mean of 2 context samples" in file.with_suffix(".md").read_text()
    assert file.with_suffix(".svg").exists() and "Command: python -m benchmarks" in capsys.readouterr().out


def test_what_cannot_be_compared_is_refused(tmp_path, tiny_checkpoint):
    data = [str(write_set(tmp_path / "one"))]
    for systems, named in (("bm52", "no system bm52"), ("random", "another data set")):
        with pytest.raises(InputError, match=named):
            beir(data, systems, tiny_checkpoint, tmp_path, 1, "all", tmp_path / "work", tmp_path / "out")


@pytest.mark.parametrize("figure", ["context-size", "context-length", "foreign-context", "movement", "idf-divergence"])
def test_a_figure_is_drawn_from_any_model(figure, tmp_path, tiny_checkpoint):
    data = [write_set(tmp_path / name) for name in ("one", "two")]
    analyse(figure, data, tiny_checkpoint, tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    series = json.loads(file.read_text())["figure"]["series"]
    assert all(len(points) for points in series.values()) and file.with_suffix(".svg").exists()


def test_clustered_batches_are_harder(tmp_path, closed_checkpoint):
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS[topic : topic + 2], size=6)) for topic in random.integers(0, 7, 600)]
    rows = [{"query": f"{text} {n}", "document": f"{text} the {n}"} for n, text in enumerate(texts)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    analyse("difficulty", [tmp_path / "pairs.jsonl"], closed_checkpoint, tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    points = json.loads(file.read_text())["figure"]["series"]["pairs"]
    assert points[1][1] > points[-1][1], "clusters of a batch's size against batches at random"


def test_an_unknown_figure_is_refused(tmp_path, tiny_checkpoint):
    with pytest.raises(InputError, match="no figure contxt"):
        analyse("contxt", [tmp_path], tiny_checkpoint, tmp_path, tmp_path)
