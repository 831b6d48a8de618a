from unicodedata import normalize

import numpy as np
from batches import write_rows
from beir_folder import write_set

from trainer.data.pairs.domains import prepare
from trainer.data.pairs.reading import Pair

QUERIES = [{"_id": "1", "text": "What is it?"}]


def test_a_part_of_a_domain_contains_whole_documents(tmp_path):
    rows = [{"query": f"{n}", "document": f"{n}", "document_id": f"book {n % 10}"} for n in range(50)]
    (domain,) = prepare([write_rows(tmp_path / "a.jsonl", rows)], tmp_path / "work")
    for seed in range(5):
        order = domain.shuffled(np.random.default_rng(seed))
        assert sorted(order) == list(range(50)) and len({row % 10 for row in order[:20]}) == 4
    alone = write_rows(tmp_path / "b.jsonl", [row | {"document_id": None} for row in rows])
    (plain,) = prepare([alone], tmp_path / "work")
    assert plain.shuffled(np.random.default_rng(0)) == np.random.default_rng(0).permutation(50).tolist()


def test_duplicates_empty_texts_and_leaks_are_dropped_and_counted(tmp_path):
    secret = " ".join(f"word{number}" for number in range(40))
    beir = write_set(tmp_path / "beir", corpus=[{"_id": "1", "title": "", "text": secret}], queries=QUERIES)
    file = write_rows(
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
        assert domain.dropped == {"duplicates": 1, "without text": 1, "leaks": 2}


def test_leaks_are_found_without_queries_in_any_form_of_unicode_and_punctuation_is_none(tmp_path):
    text = "Où est le café près de la forêt? " * 3
    for name, queries in (("none", []), ("marks", [{"_id": "1", "text": "???"}])):
        beir = write_set(tmp_path / name, corpus=[{"_id": "1", "title": "", "text": normalize("NFC", text)}])
        write_rows(beir / "queries.jsonl", queries)
        pairs = [{"query": "a", "document": normalize("NFD", text)}, {"query": "!!!", "document": "an answer"}]
        (domain,) = prepare([write_rows(tmp_path / "d.jsonl", pairs)], tmp_path / f"work-{name}", [beir])
        assert domain.take([0]) == [Pair("!!!", "an answer")] and domain.dropped == {"leaks": 1}


def test_short_texts_of_evaluation_sets_and_leaks_among_hard_negatives_are_dropped(tmp_path):
    long = " ".join(f"word{number}" for number in range(40))
    texts = [("", "Glossary of Computer Engineering and Programming Terminology, 1961!"), ("Title", "Nine of clubs")]
    rows = [
        {"_id": str(n), "title": title, "text": text} for n, (title, text) in enumerate([*texts, ("", long), ("", "")])
    ]
    beir = write_set(tmp_path / "beir", corpus=rows, queries=QUERIES)
    short = "glossary of computer engineering and programming terminology 1961"
    pairs = [
        {"query": "a", "document": short},
        {"query": "b", "document": "title: nine of clubs"},
        {"query": "c", "document": "Nine of Clubs."},
        {
            "query": "d",
            "document": "nine of clubs and more",
            "negatives": ["fine", short, long + " end", "nine"],
            "scores": [5, 4, 3, 2, 0.25],
        },
        {"query": "e", "document": "..."},
    ]
    (domain,) = prepare([write_rows(tmp_path / "d.jsonl", pairs)], tmp_path / "work", [beir])
    assert domain.take([0, 1]) == [
        Pair("d", "nine of clubs and more", ("fine", "nine"), scores=(5.0, 4.0, 0.25)),
        Pair("e", "..."),
    ]
    assert not domain.is_scored() and domain.negatives(1)[0] == ["fine"]
    assert len(domain) == 2 and domain.dropped == {"leaks": 3, "leaks among hard negatives": 2}
    (whole,) = prepare([tmp_path / "d.jsonl"], tmp_path / "work")
    assert len(whole) == 5 and whole.dropped == {}
