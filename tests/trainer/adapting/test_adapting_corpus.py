import re

import numpy as np
import pytest
import torch
from adapted_index import OTHER, make_index, masking_checkpoint
from random_texts import masking_tokenizer

from cdesearch.errors import InputError
from cdesearch.evaluation.questions import Question, plain
from cdesearch.models.contextual.model import load_checkpoint
from cdesearch.store.schema import Chunk
from trainer.adapting import corpus as module
from trainer.adapting.corpus import Corpus, read_corpus
from trainer.adapting.held_out_ranks import reciprocal_ranks
from trainer.adapting.own_pairs import heading_pairs, own_pairs, sentence_pairs

BODY = " ".join(["water"] * 20)
HEADING = "bread and stone"


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    return masking_checkpoint(tmp_path_factory.mktemp("start") / "model")


@pytest.fixture(scope="module")
def index(tmp_path_factory, start):
    return make_index(tmp_path_factory.mktemp("indexed"), start)


def chunk(document, ordinal=0, title="", trail=(), body=BODY):
    head = "\n".join(filter(None, (title, *trail)))
    text = f"{head}\n{body}" if head else body
    return Chunk(
        id=f"{document}-{ordinal}",
        document_id=document,
        record=None,
        ordinal=ordinal,
        path="a.md",
        title=title,
        trail=tuple(trail),
        text=text,
        body_start=len(text) - len(body),
        line_start=1,
        line_end=1,
        page=None,
    )


def test_whole_documents_are_held_out_and_only_their_sentences_choose(index):
    corpus = read_corpus(index, 60, 0)
    trained, held_out = ({one.document_id for one in group} for group in (corpus.trained, corpus.held_out))
    assert len(held_out) == 60 and not trained & held_out and len(trained | held_out) == 320
    ids = {one.id for one in corpus.held_out}
    assert corpus.questions and all(question.answers <= ids for question in corpus.questions)
    assert read_corpus(index, 70, 0).digest == corpus.digest, "so other minutes do not make it another corpus"


def test_of_few_long_documents_parts_are_held_out():
    chunks = [chunk(str(number // 100), number % 100) for number in range(400)]
    trained, held_out = module._divided(chunks, 80, 0)
    assert len(held_out) == 80 and len(trained) == 320
    parts = {(one.document_id, one.ordinal // module.PART) for one in held_out}
    assert len(parts) == 80 / module.PART


def test_an_index_that_is_too_small_or_has_too_few_sentences_is_refused(index, tmp_path, start, monkeypatch):
    with pytest.raises(InputError, match=r"has 12 chunks.*needs 300"):
        read_corpus(make_index(tmp_path / "small", start, 12), 150, 0)
    with pytest.raises(InputError, match=r"The held-out documents have \d+ sentences .* Give more --minutes"):
        read_corpus(index, 10, 0)
    monkeypatch.setattr(module, "LEAST_QUESTIONS", 10_000)
    with pytest.raises(InputError, match=r"The index has \d+ passages .* Keep the model of the index"):
        read_corpus(index, 150, 0)


def test_a_pair_is_the_title_and_the_last_heading_with_the_body_below():
    chunks = [
        chunk("a", 0, "Moon", ["Part", "Light"]),
        chunk("a", 1, "Moon", ["Part", "Light"], BODY + " again"),
        chunk("b", 0, "River", []),
        chunk("c", 0, "", []),
        chunk("d", 0, "Short", [], "a few words"),
        chunk("e", 0, "Same", ["Same"]),
    ]
    found = {pair.query: (pair.document, pair.document_id) for pair in heading_pairs(chunks, {})}
    assert found == {"Moon: Light": (BODY, "a"), "River": (BODY, "b"), "Same": (BODY, "e")}


def test_a_pair_is_a_sentence_and_the_passage_without_it():
    sentences = [f"The {word} is the word of this sentence." for word in ("first", "second", "third", "fourth")]
    plain, code = " ".join(sentences), "import os\nreturn os.path.join(a, b)\nprint(x)"
    found = sentence_pairs([chunk("a", body=plain), chunk("b", body="Too short. It is."), chunk("c", body=code)], 0)
    (pair,) = found.values()
    assert list(found) == ["a-0"] and pair.query in sentences and pair.document_id == "a"
    assert sorted([pair.query, *re.findall(r"The .*?\.", pair.document)]) == sorted(sentences)


def test_both_pairs_of_a_chunk_have_the_same_document():
    text = "The moon has a word here. The river has another word here. The stone has the last word of all of them here."
    heading, sentence = own_pairs([chunk("a", 0, "Moon", body=text)], 0)
    assert heading.query == "Moon" and sentence.query in text
    assert heading.document == sentence.document and sentence.query not in sentence.document
    assert own_pairs([chunk("a", body=BODY)], 0) == []


def test_more_minutes_are_not_advised_if_all_texts_are_the_same(index, monkeypatch):
    sentences = [
        f"The {word} has a bend beside the old stone of the house." for word in ("river", "road", "wall", "hill")
    ]
    chunks = [chunk(str(number), body=" ".join(sentences)) for number in range(400)]
    monkeypatch.setattr(module, "sample_chunks", lambda *_: chunks)
    with pytest.raises(
        InputError, match=r"0 sentences that stand in no other document.* 40 .*Keep the model of the index"
    ):
        read_corpus(index, 50, 0)


def test_a_sentence_that_stands_in_a_chunk_to_train_on_measures_nothing():
    copied, own = "This software comes without any warranty at all.", "The river has a bend beside the old stone."
    held_out = [Question(plain(one), "sentences", frozenset({"h"}), one) for one in (copied, own, own)]
    assert [one.text for one in module._only_held_out(held_out, [chunk("a", body=f"Notes. {copied}")])] == [own]


def test_the_rank_of_a_passage_is_measured_without_the_heading_that_asks_for_it(start):
    words = list(OTHER)
    bodies = [" ".join(np.random.default_rng(number).choice(words, 24)) for number in range(40)]
    plain = [chunk(str(number), 0, body=body) for number, body in enumerate(bodies)]
    model, tokenizer = load_checkpoint(start), masking_tokenizer()

    def ranks(chunks, asked):
        pairs = zip(asked, chunks, strict=True)
        questions = [Question(text, "headings", frozenset({one.id}), HEADING) for text, one in pairs]
        return reciprocal_ranks(model, tokenizer, Corpus([], chunks, questions), torch.device("cpu"))

    np.testing.assert_array_equal(ranks(plain, bodies), np.ones(40))  # each passage is nearest to its own words
    others = ranks(plain, bodies[1:] + bodies[:1])
    assert others.mean() < 0.5 and set(np.round(1 / others[others > 0])) <= set(range(1, 11))
    titled = [chunk(str(number), 0, HEADING, body=body) for number, body in enumerate(bodies)]
    np.testing.assert_array_equal(ranks(titled, bodies), np.ones(40))
