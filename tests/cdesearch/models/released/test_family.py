"""Released checkpoints have the vectors of their networks called directly."""

import json

import numpy as np
import pytest
import torch
from built import make_index
from conftest import make_tokenizer
from random_released import released_folder
from safetensors.torch import load_file, save_file
from small_corpus import CORPUS, TEXTS, assert_finds_what_it_holds
from torch.nn import functional

import cdesearch
from cdesearch.encode.embedder import Embedder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import ModelError


def tokens(texts, prefix):
    tokenizer = make_tokenizer()
    tokenizer.enable_padding()
    tokenizer.enable_truncation(512)
    encodings = tokenizer.encode_batch([prefix + text for text in texts])
    return [torch.tensor([getattr(one, name) for one in encodings]) for name in ("ids", "attention_mask")]


@pytest.mark.parametrize("size", [12, 5])
@pytest.mark.parametrize("variant", ["v1", "v2"])
@torch.no_grad()
def test_vectors_of_a_released_folder_are_those_of_the_networks_called_directly(tmp_path, variant, size):
    folder, model = released_folder(tmp_path / "released", variant)
    embedder = Embedder(folder)
    context = embedder.sample_context(CORPUS, size)
    sampled = [CORPUS[int(chunk)] for chunk in context.sampled.chunk_ids]
    vectors = model.first_stage(*tokens(sampled, "search_document: "))
    np.testing.assert_allclose(context.inputs.vectors, vectors, atol=1e-5)
    repeated = vectors[torch.arange(12) % size]  # the model repeats the texts of a small corpus
    for role, prefix in {"query": "search_query: ", "document": "search_document: "}.items():
        for is_null, given in ((False, context), (True, None)):
            rows = model.prepare_context(repeated, torch.full((12,), is_null), None)
            ids, mask = tokens(TEXTS, prefix)
            wanted = functional.normalize(model.pooled(ids, mask, mask, rows)[0], dim=-1)
            np.testing.assert_allclose(embedder.encode(TEXTS, role, given), wanted, atol=1e-5)
    assert embedder.encoder.config.document_weight == 0
    assert (context.whitening.projection == np.eye(64)).all() and not context.whitening.shift.any()
    assert (context.inputs.token_weights == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["v1", "v2"])
def test_a_folder_is_indexed_and_searched_with_a_released_checkpoint(tmp_path, documents, variant):
    folder, _ = released_folder(tmp_path / "released", variant)
    report = make_index([documents], model=folder)
    assert report.documents == report.embedded == len(CORPUS)
    found = cdesearch.open(documents)
    assert found.index.manifest.model == str(folder) and found.index.manifest.context_size == 12
    assert_finds_what_it_holds(found)
    (documents / "new.txt").write_text("light on the river")
    assert make_index([documents]).embedded == 1


def test_a_model_without_a_null_embedding_needs_a_context(tmp_path):
    folder, _ = released_folder(tmp_path / "released", "v2")
    state = load_file(folder / "model.safetensors")
    without = {name: tensor for name, tensor in state.items() if "null" not in name}
    config = json.loads((folder / "config.json").read_text()) | {"transductive_sequence_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    embedder = Embedder(folder)  # as published: the config is for inference, without dropout
    assert np.isfinite(embedder.encode(TEXTS)).all()
    save_file(without, folder / "model.safetensors")
    embedder = Embedder(folder)
    assert np.isfinite(embedder.encode(TEXTS, dataset_embeddings=embedder.sample_context(CORPUS))).all()
    with pytest.raises(ModelError, match="Give it a context"):
        embedder.encode(TEXTS)


def test_other_weights_or_settings_are_another_model(tmp_path):
    folder, _ = released_folder(tmp_path / "released", "v1")
    first = load_encoder(folder).fingerprint
    assert load_encoder(folder).fingerprint == first
    state = load_file(folder / "model.safetensors")
    state["first_stage_model.mlp.0.bias"][3] += 1e-3
    save_file(state, folder / "model.safetensors")
    assert load_encoder(folder).fingerprint != first


def test_a_tokenizer_of_another_model_is_refused(tmp_path):
    folder, _ = released_folder(tmp_path / "released", "v1")
    (folder / "tokenizer.json").unlink()  # as published: then it is that of bert-base-uncased
    with pytest.raises(ModelError, match=r"makes token \d+, and the model has only 1100"):
        load_encoder(folder).encode(["a private text"], "query", None)


def test_the_error_for_v2_without_a_tokenizer_names_its_source(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    folder, _ = released_folder(tmp_path / "released", "v2")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"hf download answerdotai/ModernBERT-base tokenizer\.json --local-dir"):
        load_encoder(folder)
