import gzip
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.context.document import add_document_context
from cdesearch.context.token_weights import TokenFrequencies, idf_weights
from cdesearch.context.vectors import to_unit
from cdesearch.context.whitening import soft_whitening
from cdesearch.errors import InputError, SourceError
from cdesearch.models.config import StatisticsConfig
from trainer.data.beir import _read_judgements as read_judgements
from trainer.data.beir import read_queries
from trainer.data.pairs import Pair, domain_files, prepare, read_pairs
from trainer.data.training_batch import Tokens, choose_context, siblings_of
from trainer.recipe import differences, load_recipe
from trainer.step.document import in_document
from trainer.step.token_weights import document_frequencies
from trainer.step.whitening_head import WhiteningHead

RECIPE = '[data]\npairs = ["p"]\n[model]\nstart = "m"\n[run]\nout = "o"\n'


def write(file, rows):
    file.write_text("\n".join(json.dumps(row) for row in rows))
    return file


def test_pairs_of_every_format(tmp_path):
    rows = [{"query": "q", "document": "d", "negatives": ["n"]}, {"query": "r", "document": "e"}]
    write(tmp_path / "a.jsonl", rows)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "c.parquet")
    (tmp_path / "notes.txt").write_text("no pairs")
    files = domain_files([tmp_path])
    assert [file.name for file in files] == ["a.jsonl", "b.jsonl.gz", "c.parquet"]
    for file in files:
        assert list(read_pairs(file)) == [Pair("q", "d", ("n",)), Pair("r", "e")]


def test_two_files_of_one_domain_name_are_refused(tmp_path):
    files = [write(tmp_path / name, [{"query": "q", "document": "d"}]) for name in ("a.jsonl", "a.short.jsonl")]
    with pytest.raises(SourceError, match=r"a\.jsonl and .*a\.short\.jsonl would be one domain, a\."):
        domain_files(files)


def test_a_long_document_has_one_pair_per_question(tmp_path):
    book = {"doc_id": "book", "chunks": ["one", "two"], "questions": [{"text": "second?", "chunk": 1}]}
    file = write(tmp_path / "a.jsonl", [book, {"query": "q", "document": "d", "document_id": "x"}])
    pairs = list(read_pairs(file))
    assert pairs == [Pair("second?", "two", document_id="book"), Pair("q", "d", document_id="x")]
    (domain,) = prepare([file], tmp_path / "work")
    assert domain.take([0, 1]) == pairs
    for wrong in (
        {"questions": [{"text": "none?", "chunk": -1}]},
        {"chunks": ["one"]},
        {"chunks": None},
        {"questions": 3},
    ):
        with pytest.raises(SourceError, match="1 is not a long document"):
            list(read_pairs(write(file, [book | wrong])))


def test_a_part_of_a_domain_contains_whole_documents(tmp_path):
    rows = [{"query": f"{n}", "document": f"{n}", "document_id": f"book {n % 10}"} for n in range(50)]
    (domain,) = prepare([write(tmp_path / "a.jsonl", rows)], tmp_path / "work")
    for seed in range(5):
        order = domain.shuffled(np.random.default_rng(seed))
        assert sorted(order) == list(range(50)) and len({row % 10 for row in order[:20]}) == 4
    (plain,) = prepare([write(tmp_path / "b.jsonl", [row | {"document_id": None} for row in rows])], tmp_path / "work")
    assert plain.shuffled(np.random.default_rng(0)) == np.random.default_rng(0).permutation(50).tolist()


@given(st.lists(st.lists(st.integers(1, 20), min_size=1, max_size=9), min_size=1, max_size=6))
def test_a_token_counts_once_a_document(rows):
    ids = torch.zeros(len(rows), 9, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)], mask[number, : len(row)] = torch.tensor(row), 1
    expected = [sum(token in row for row in rows) for token in range(21)]
    assert document_frequencies(Tokens(ids, mask), 21).tolist() == expected


def test_siblings_are_chunks_of_one_document():
    pairs = [Pair("q", "a", ("n",), "book"), Pair("q", "b"), Pair("q", "c", ("m",), "book"), Pair("q", "d")]
    book, alone, same, *rest = siblings_of(pairs).tolist()
    assert book == same and len({book, alone, *rest}) == 5 and len(rest) == 3


@given(st.integers(1, 12), st.floats(0, 1), st.integers(0, 1000))
def test_document_context_is_added_as_in_an_index(n, weight, seed):
    random = np.random.default_rng(seed)
    own = to_unit(random.standard_normal((n, 8)).astype(np.float32))
    siblings = random.integers(0, min(n, 3), n)
    placed = in_document(torch.from_numpy(own), torch.from_numpy(siblings), weight).numpy()
    for number in set(siblings.tolist()):
        mine = siblings == number
        np.testing.assert_allclose(placed[mine], to_unit(add_document_context(own[mine], weight)), atol=1e-5)


def test_duplicates_empty_texts_and_leaks_are_dropped_and_counted(tmp_path):
    beir = tmp_path / "beir"
    beir.mkdir()
    secret = " ".join(f"word{number}" for number in range(40))
    write(beir / "corpus.jsonl", [{"_id": "1", "title": "", "text": secret}])
    write(beir / "queries.jsonl", [{"_id": "1", "text": "What is it?"}])
    file = write(
        tmp_path / "d.jsonl",
        [
            {"query": "q", "document": "fine"},
            {"query": "q", "document": "fine"},
            {"query": " ", "document": "x"},
            {"query": "what is it", "document": "an answer"},
            {"query": "other", "document": "prefix " + secret},
        ],
    )
    for _ in range(2):  # the second time from the stored pairs
        (domain,) = prepare([file], tmp_path / "work", [beir])
        assert domain.take([0]) == [Pair("q", "fine")] and len(domain) == 1
        assert domain.dropped == {"double": 1, "empty": 1, "leak": 2}


def test_short_texts_of_evaluation_sets_and_leaks_among_hard_negatives_are_dropped(tmp_path):
    beir = tmp_path / "beir"
    beir.mkdir()
    long = " ".join(f"word{number}" for number in range(40))
    texts = [("", "Glossary of Computer Engineering and Programming Terminology, 1961!"), ("Title", "Nine of clubs")]
    rows = [
        {"_id": str(n), "title": title, "text": text} for n, (title, text) in enumerate([*texts, ("", long), ("", "")])
    ]
    write(beir / "corpus.jsonl", rows)
    write(beir / "queries.jsonl", [{"_id": "1", "text": "What is it?"}])
    short = "glossary of computer engineering and programming terminology 1961"
    pairs = [
        {"query": "a", "document": short},
        {"query": "b", "document": "title: nine of clubs"},
        {"query": "c", "document": "Nine of Clubs."},
        {"query": "d", "document": "nine of clubs and more", "negatives": ["fine", short, long + " end", "nine"]},
        {"query": "e", "document": "..."},
    ]
    (domain,) = prepare([write(tmp_path / "d.jsonl", pairs)], tmp_path / "work", [beir])
    assert domain.take([0, 1]) == [Pair("d", "nine of clubs and more", ("fine", "nine")), Pair("e", "...")]
    assert len(domain) == 2 and domain.dropped == {"leak": 3, "leak among hard negatives": 2}
    (whole,) = prepare([tmp_path / "d.jsonl"], tmp_path / "work")
    assert len(whole) == 5 and whole.dropped == {}


@pytest.mark.parametrize(
    ("line", "named"), [("{oops", "not JSON"), ('{"query": 1}', "no text"), ("[]", "not a JSON object")]
)
def test_a_bad_line_is_named(tmp_path, line, named):
    file = tmp_path / "d.jsonl"
    file.write_text('{"query": "q", "document": "d"}\n' + line)
    with pytest.raises(SourceError, match=rf"d.jsonl:2 .*{named}"):
        list(read_pairs(file))


GOOD = b'{"query": "q", "document": "d"}\n' * 3
DAMAGED = {
    "cut.jsonl.gz": (gzip.compress(os.urandom(9000))[:2000], r"cut\.jsonl\.gz(:1 is not JSON| cannot be read)"),
    "late.jsonl.gz": (gzip.compress(GOOD)[:-12], r"late\.jsonl\.gz cannot be read"),
    "tail.jsonl.gz": (gzip.compress(GOOD) + b"tail", r"tail\.jsonl\.gz cannot be read after line 3 .*Copy the file"),
    "plain.jsonl.gz": (GOOD, r"plain\.jsonl\.gz cannot be read \(Not a gzipped file"),
    "bits.jsonl.gz": (gzip.compress(b"")[:10] + b"\xff" * 99, r"bits\.jsonl\.gz cannot be read \(Error -3"),
    "deep.jsonl": (GOOD + b"[" * 100_000, r"deep\.jsonl:4 is not JSON"),
    "latin.jsonl": (GOOD + b'{"query": "caf\xe9"}', r"latin\.jsonl:4 is not JSON"),
    "long.jsonl": (GOOD + b'{"query": ' + b"9" * 5000 + b"}", r"long\.jsonl:4 is not JSON"),
    "cut.parquet": (b"PAR1" + b"\0" * 99, r"cut\.parquet is not a readable Parquet file"),
    "empty.parquet": (b"", r"empty\.parquet is not a readable Parquet file"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_pair_file_is_named(tmp_path, name):
    content, message = DAMAGED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=message):
        list(read_pairs(tmp_path / name))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_folders_with_the_name_of_a_pair_file_are_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    os.mkfifo(tmp_path / "queries.jsonl")
    (tmp_path / "qrels").mkdir()
    os.mkfifo(tmp_path / "qrels" / "test.tsv")
    (tmp_path / "folder.jsonl").mkdir()
    for read in (
        lambda: prepare([tmp_path / "pipe.jsonl"], tmp_path / "work"),
        lambda: list(read_pairs(tmp_path / "pipe.jsonl")),
        lambda: read_queries(tmp_path),
        lambda: read_judgements(tmp_path / "qrels" / "test.tsv", {}, {}),
    ):
        with pytest.raises(SourceError, match="is not a plain file"):
            read()
    with pytest.raises(SourceError, match=r"folder\.jsonl is a folder"):
        prepare([tmp_path / "folder.jsonl"], tmp_path / "work")


def test_only_pairs_of_the_chosen_groups_are_used(tmp_path):
    file = tmp_path / "code.jsonl"
    groups = ["scipy+scipy:a.py", "ansible+ansible:b.py", None]
    rows = [{"query": f"q{n}", "document": "d", "group": group} for n, group in enumerate(groups)]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert [pair.query for pair in read_pairs(file, r"(scipy|sympy)\+")] == ["q0"]
    whole, part = (prepare([file], tmp_path / "made", groups=groups)[0] for groups in ({}, {"code": "scipy"}))
    assert len(whole) == 3 and len(part) == 1


def test_a_recipe_finds_its_data_under_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "p").mkdir()
    (tmp_path / "recipe.toml").write_text(RECIPE)
    monkeypatch.setenv("CDESEARCH_DATA", str(tmp_path))
    assert load_recipe(tmp_path / "recipe.toml").data.pairs == [tmp_path / "p"]


def test_the_learning_head_is_the_head_of_inference():
    random = np.random.default_rng(0)
    context = random.standard_normal((40, 8)).astype(np.float32)
    config = StatisticsConfig()
    unit = context / np.linalg.norm(context, axis=1, keepdims=True)
    fitted = soft_whitening(unit, config)
    shift, projection = fitted.shift, fitted.projection
    expected = (unit - shift) @ projection
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    head = WhiteningHead(config)
    found = head(torch.tensor(context), torch.tensor(context))
    np.testing.assert_allclose(found.detach(), expected, atol=1e-5)
    found[:, 0].sum().backward()
    assert all(parameter.grad is not None for parameter in (head.shift, head.log_ridge, head.power))
    counts = random.integers(0, 30, 50)
    special = np.array([1, 2])
    weights = head.token_weights(torch.tensor(counts).float(), 40, torch.tensor(special))
    plain = idf_weights(TokenFrequencies(counts, 40), special, config.idf_exponent)
    np.testing.assert_allclose(weights.detach(), plain, rtol=1e-5)


def test_the_context_is_shared_and_sometimes_absent():
    random = np.random.default_rng(0)
    indices, is_null = choose_context(100, 32, slot_dropout=0.0, null_share=0.0, random=random)
    assert len(set(indices.tolist())) == 32 and not is_null.any()
    assert choose_context(3, 32, 0.0, 0.0, random)[0].tolist() == [0, 1, 2]
    assert choose_context(100, 32, 0.0, 1.0, random)[1].all()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (RECIPE + "[batches]\nsise = 3\n", "did you mean size"),
        (RECIPE.replace("[run]", "[rum]"), "did you mean run"),
        (RECIPE + "[batches]\nsize = 'many'\n", "batches.size"),
        ("[data", "is not a recipe"),
    ],
)
def test_a_typo_in_a_recipe_is_named(tmp_path, text, named):
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(InputError, match=named):
        load_recipe(tmp_path / "r.toml")


MASKED = RECIPE + '[batches]\nfilter = "dense"\neps = 0.0\n'


@pytest.mark.parametrize("surrogate", ["", 'surrogate = "m"'])
def test_a_filter_that_masks_every_error_of_the_start_is_refused(tmp_path, surrogate):
    (tmp_path / "r.toml").write_text(MASKED.replace('out = "o"\n', f'out = "o"\n{surrogate}\n'))
    with pytest.raises(InputError, match="every document that the start ranks above the right one is masked"):
        load_recipe(tmp_path / "r.toml")
    for change in ({"run.surrogate": "s"}, {"batches.eps": "0.1"}, {"batches.filter": "fused"}):
        load_recipe(tmp_path / "r.toml", change)


def test_recipes_in_the_repository_parse_and_can_be_overridden(tmp_path):
    from pathlib import Path

    import trainer

    for file in sorted((Path(trainer.__file__).parent / "recipes").glob("*.toml")):
        recipe = load_recipe(file, {"batches.size": "7", "run.out": "here"})
        assert recipe.batches.size == 7 and str(recipe.run.out) == "here"
        other = load_recipe(file, {"batches.size": "8", "run.out": "here"})
        assert differences(recipe, other) == ["batches.size: 7 -> 8"]
