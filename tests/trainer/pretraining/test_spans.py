from dataclasses import replace

import numpy as np
import pytest
import torch
from random_texts import documents, vocabulary

from trainer.pretraining.texts import SpanSampler


@pytest.fixture
def sampler(tmp_path):
    found = documents(tmp_path)
    return SpanSampler(found, np.arange(len(found)), vocabulary(), 10, 2, seed=1)


def text_of(documents, row):
    return np.concatenate(documents.passages_of(row)).tolist()


def texts(spans):
    return [row[:length].tolist() for row, length in zip(spans.ids, spans.tokens.mask.sum(1).tolist(), strict=True)]


def holds(document, span):
    return any(document[start : start + len(span)] == span for start in range(len(document)))


def test_two_spans_of_a_step_come_from_different_places_of_one_document(sampler):
    spans = sampler.of_step(0, 16)
    assert len(spans.tokens) == 32 and spans.ids.shape[1] <= 10
    whole = [text_of(sampler.documents, row) for row in range(len(sampler.documents))]
    seen = set()
    for one, other in zip(texts(spans)[::2], texts(spans)[1::2], strict=True):
        sources = [{row for row, text in enumerate(whole) if holds(text, span[1:-1])} for span in (one, other)]
        assert sources[0] & sources[1] and one != other
        seen |= sources[0] & sources[1]
    assert len(seen) >= 16


def test_a_document_of_one_passage_gives_its_halves(sampler):
    alone = next(row for row in range(len(sampler.documents)) if len(sampler.documents.passages_of(row)) == 1)
    text = text_of(sampler.documents, alone)
    spans = replace(sampler, rows=np.array([alone]), max_tokens=128).of_step(0, 1)
    assert [span[1:-1] for span in texts(spans)] == [text[: len(text) // 2], text[len(text) // 2 :]]


def test_the_spans_of_a_step_follow_from_the_seed_and_an_epoch_has_each_document_once(sampler):
    again = sampler.of_step(3, 8)
    assert torch.equal(again.tokens.ids, sampler.of_step(3, 8).tokens.ids)
    assert not torch.equal(again.ids, replace(sampler, seed=2).of_step(3, 8).ids)
    single = replace(sampler, per_document=1, max_tokens=128)
    epoch = [tuple(text) for step in range(5) for text in texts(single.of_step(step, 8))]
    assert len(epoch) == 40 and len(set(epoch)) == 40


def test_masked_tokens_differ_from_the_text_only_where_they_are_chosen(sampler):
    spans = sampler.of_step(0, 16)
    assert torch.equal(spans.tokens.ids[~spans.chosen], spans.ids[~spans.chosen])
    assert spans.chosen.sum(1).min() >= 1 and (spans.tokens.ids == vocabulary().mask).any()
    assert not (spans.chosen & (spans.tokens.mask == 0)).any()


def test_documents_are_stored_once_and_repeated_or_short_ones_left_out(tmp_path, monkeypatch):
    found = documents(tmp_path)
    assert len(found) == 40
    monkeypatch.setattr("trainer.pretraining.texts._tokenised", None)
    assert documents(tmp_path).digest == found.digest
