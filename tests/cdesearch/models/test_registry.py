"""A new family of models is one class and one entry in the registry."""

import json

import numpy as np
import pytest
import torch
from conftest import make_tokenizer

from cdesearch.encode.load import load_encoder
from cdesearch.errors import ModelError
from cdesearch.models import registry
from cdesearch.models.config import NO_STATISTICS, BackboneConfig, ModelConfig
from cdesearch.models.family import LoadedModel, hash_files

D = 8


class BagOfTokens(torch.nn.Module):
    """The weighted mean of one random vector a token."""

    reads_context = False
    prefix_rows = 0

    def __init__(self, vocabulary, seed):
        super().__init__()
        self.table = torch.nn.Embedding(vocabulary, D)
        self.table.weight.data.normal_(generator=torch.Generator().manual_seed(seed))

    def first_stage(self, input_ids, attention_mask):
        return self.pooled(input_ids, attention_mask, attention_mask, None)

    def cache(self, vectors, is_null):
        return None

    def prepare_context(self, vectors, is_null, cached):
        return None

    def pooled(self, input_ids, attention_mask, weights, context):
        return (self.table(input_ids) * weights[..., None]).sum(1) / weights.sum(1, keepdim=True)


class BagFamily:
    needs_torch = True
    is_exported = False
    reads_corpus = True

    def detect(self, fields):
        return "bag_seed" in fields

    def describe(self, fields):
        return "bag of tokens"

    def open(self, folder):
        seed = json.loads((folder / "config.json").read_text())["bag_seed"]
        vocabulary = make_tokenizer().get_vocab_size()
        config = ModelConfig(BackboneConfig(vocabulary, D, 1, 1, D, 64), NO_STATISTICS, max_tokens=64)
        files = [folder / "config.json", folder / "tokenizer.json"]
        return LoadedModel(config, files[1], hash_files(files), lambda: BagOfTokens(vocabulary, seed))


@pytest.fixture
def bag(tmp_path):
    (tmp_path / "config.json").write_text('{"bag_seed": 5}')
    make_tokenizer().save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_a_family_that_is_added_to_the_registry_is_loaded_and_encodes(bag, monkeypatch):
    monkeypatch.setattr(registry, "FAMILIES", [BagFamily(), *registry.FAMILIES])
    encoder = load_encoder(bag)
    ids = make_tokenizer().encode("the cat").ids
    expected = BagOfTokens(make_tokenizer().get_vocab_size(), 5).table.weight[ids].mean(0)
    vector = encoder.encode(["the cat"], "document", None)[0]
    np.testing.assert_allclose(vector, (expected / expected.norm()).detach(), atol=1e-6)


def test_a_folder_of_no_family_is_refused(bag):
    with pytest.raises(ModelError, match="does not belong to a checkpoint that cdesearch can read"):
        load_encoder(bag)


def test_each_family_is_the_first_that_detects_its_own_fields():
    fields = ({"embedder": "x"}, {"format": 2}, {"model_type": "bidirectional_pplx_qwen3"}, {"model_type": "bert"})
    first = [next(number for number, family in enumerate(registry.FAMILIES) if family.detect(one)) for one in fields]
    assert first == [0, 1, 2, 3]
