"""pplx-embed has the codes of its published description, computed here by transformers' own Qwen3Model."""

import numpy as np
import pytest
import torch
from random_pplx import SEPARATOR, SHAPES, byte_tokenizer, pplx_folder, random_qwen3
from small_corpus import TEXTS

from cdesearch.context.rounding import to_codes
from cdesearch.encode.embedder import Embedder
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import ModelError

pytest.importorskip("transformers")
CHUNKS = ["the cat", "", "a dog in the water", "bread"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return pplx_folder(tmp_path_factory.mktemp("plain") / "pplx-embed-v1")


@pytest.fixture(scope="module")
def contextual(tmp_path_factory):
    return pplx_folder(tmp_path_factory.mktemp("context") / "pplx-embed-context-v1", is_contextual=True)


def their_states(ids):
    """(T, d) states of the library's own Qwen3Model, in which every token reads all others."""
    with torch.inference_mode():
        mask = torch.ones(1, 1, len(ids), len(ids), dtype=torch.bool)
        return random_qwen3()(torch.tensor([ids]), attention_mask={"full_attention": mask}).last_hidden_state[0]


def their_codes(means):
    return (127 * np.tanh(means.numpy())).round().clip(-128, 127)


def token_ids(text):
    return byte_tokenizer().encode(text).ids[: SHAPES["max_position_embeddings"]]


def codes_of(vectors):
    """The codes of unit vectors of a plain model, which is their direction."""
    return to_codes(np.atleast_2d(vectors))[0].astype(int)


def their_document(chunks):
    """Codes (C, d) of chunks that are joined by separators: each the mean of its own tokens' states."""
    separator = byte_tokenizer().token_to_id(SEPARATOR)
    states = their_states([number for chunk in chunks for number in (*token_ids(chunk), separator)][:-1])
    means, start = [], 0
    for chunk in chunks:
        length = len(token_ids(chunk))
        means.append(states[start : start + length].mean(0) if length else torch.zeros(32))
        start += length + 1
    return their_codes(torch.stack(means))


def test_codes_differ_from_the_published_ones_by_at_most_one(plain):
    found = codes_of(Embedder(plain, plain=True).encode(TEXTS, "query"))
    wanted = np.stack([their_codes(their_states(token_ids(text)).mean(0)) for text in TEXTS])
    assert np.abs(found - wanted).max() <= 1
    assert len(np.unique(wanted)) > 50


def test_padding_and_role_do_not_change_a_vector(plain):
    encoder = load_encoder(plain, plain=True)
    together = encoder.encode(TEXTS, "document", None)
    alone = np.concatenate([encoder.encode([text], "query", None) for text in TEXTS])
    assert np.abs(codes_of(together) - codes_of(alone)).max() <= 1


@pytest.mark.parametrize("role", ["query", "document"])
def test_an_empty_text_is_a_vector_of_zeros(plain, role):
    embedder = Embedder(plain, plain=True)
    assert not embedder.encode("", role).any()
    vectors = embedder.encode(["", "the cat", ""], role)
    assert not vectors[[0, 2]].any()
    np.testing.assert_allclose(np.linalg.norm(vectors[1]), 1, rtol=1e-5)


def test_chunks_are_joined_by_separators_that_no_mean_contains(contextual):
    encoder = load_encoder(contextual, plain=True)
    vectors = encoder.encode_window(CHUNKS, None)
    assert np.abs(codes_of(vectors) - their_document(CHUNKS)).max() <= 1
    assert not vectors[1].any()


def test_a_query_is_a_document_of_one_chunk(contextual):
    encoder = load_encoder(contextual, plain=True)
    query = encoder.encode(["the cat and the dog"], "query", None)
    window = encoder.encode_window(["the cat and the dog"], None)
    assert np.abs(codes_of(query) - codes_of(window)).max() <= 1


def test_a_separator_in_the_text_of_a_chunk_does_not_divide_it(contextual):
    encoder = load_encoder(contextual, plain=True)
    chunks = [f"the {SEPARATOR} cat", "bread"]
    assert np.abs(codes_of(encoder.encode_window(chunks, None)) - their_document(chunks)).max() <= 1


def test_a_chunk_longer_than_the_model_reads_is_truncated_in_a_window_of_its_own(contextual):
    encoder = load_encoder(contextual, plain=True).truncated_to(8)
    assert encoder.windows(["the cat", "bread and water", "dog"]) == [range(1), range(1, 2), range(2, 3)]
    long, short = (encoder.encode_window([text], None) for text in ("bread and water", "bread an"))
    np.testing.assert_array_equal(long, short)


def test_the_two_checkpoints_are_told_apart_by_the_class_of_their_code(plain, contextual):
    assert load_encoder(plain).separator is None and load_encoder(contextual).separator == 256


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"hidden_act": "gelu"}, "hidden_act = 'gelu'"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_type = 'yarn'"),
        ({"layer_types": ["sliding_attention"]}, "layer_types"),
        ({"head_dim": None}, "lacks head_dim"),
        ({"num_key_value_heads": 3}, "multiple of num_key_value_heads"),
        ({"num_hidden_layers": 3}, "weights lack"),
    ],
)
def test_an_unsupported_config_is_refused_by_the_name_of_the_field(tmp_path, fields, named):
    folder = pplx_folder(tmp_path / "model", **fields)
    with pytest.raises(ModelError, match=named):
        load_encoder(folder)


def test_a_context_model_without_its_separator_is_refused(tmp_path):
    folder = pplx_folder(tmp_path / "model", is_contextual=True)
    text = (folder / "tokenizer.json").read_text().replace(SEPARATOR, "<|end|>")
    (folder / "tokenizer.json").write_text(text)
    with pytest.raises(ModelError, match="has no token <"):
        load_encoder(folder)


def test_the_models_code_is_never_run(tmp_path):
    folder = pplx_folder(tmp_path / "model", is_contextual=True)
    (folder / "modeling.py").write_text("raise SystemExit('ran')")
    assert isinstance(load_encoder(folder), Encoder)
