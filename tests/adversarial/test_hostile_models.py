"""Checkpoint folders from anywhere: each is refused in one line, or works."""

import base64
import json
import os
import pickle
import shutil
import struct

import numpy as np
import pytest
from command import cdesearch
from random_biencoder import biencoder_folder
from safetensors.numpy import load_file, save_file

from cdesearch.encode.load import load_encoder
from cdesearch.encode.tokenizer_limits import reporting_failure
from cdesearch.errors import ModelError

only_posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


@pytest.fixture
def checkpoint(tiny_checkpoint, tmp_path):
    return shutil.copytree(tiny_checkpoint, tmp_path / "model")


@pytest.fixture
def for_torch(checkpoint):
    shutil.rmtree(checkpoint / "onnx")
    return checkpoint


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return biencoder_folder(tmp_path_factory.mktemp("published") / "model")


@pytest.fixture
def biencoder(published, tmp_path):
    return shutil.copytree(published, tmp_path / "biencoder")


def change_json(file, *path_and_value):
    *path, last, value = path_and_value
    values = json.loads(file.read_text())
    place = values
    for name in path:
        place = place[name]
    place[last] = value
    file.write_text(json.dumps(values))


def use(folder):
    encoder = load_encoder(folder)
    assert np.isfinite(encoder.encode(["the cat in the house", "the dog " * 40], "query", None)).all()


BACKBONE = ("vocabulary", "dimension", "n_layers", "n_heads", "inner", "n_positions")
FIELDS = [
    *(("backbone", name, value) for name in BACKBONE for value in (-1, 0, 10**12, "x", None, 1.5, True)),
    *(("backbone", "norm_eps", value) for value in (-1, "x", float("nan"))),
    *(("statistics", "idf_exponent", value) for value in (1e300, "x", None, [])),
    *(("statistics", "ridge", value) for value in (-1, float("inf"))),
    *(("context_size", value) for value in (0, -1, 10**12, "x", None)),
    *(("max_tokens", value) for value in (0, -1, 3, "x", None)),
    *(("span_tokens", value) for value in (0, -1, 2, 1.5, "x")),
    *(("query_prefix", value) for value in (5, None, "\ud800", "the " * 100)),
    *(("document_prefix", value) for value in (5, [], "the " * 100)),
    *(("context_attention", value) for value in ("x", None, 5)),
    ("first_stage", "x"),
    ("document_weight", -1),
    ("backbone", "n_heads", 3),
]


@pytest.mark.parametrize("has_onnx", [True, False])
@pytest.mark.parametrize("field", FIELDS, ids=lambda field: " ".join(map(ascii, field))[:40])
def test_an_impossible_configuration_is_refused_before_memory_is_reserved(checkpoint, field, has_onnx):
    if not has_onnx:
        shutil.rmtree(checkpoint / "onnx")
    change_json(checkpoint / "config.json", *field)
    with pytest.raises(ModelError):
        load_encoder(checkpoint)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vocabulary", "dimension", "n_layers", "inner"])
def test_weights_of_another_size_than_the_configuration_says_are_refused(for_torch, name):
    change_json(for_torch / "config.json", "backbone", name, 1_000 if name == "n_layers" else 60_000)
    with pytest.raises(ModelError, match=r"does not fit its config\.json"):
        load_encoder(for_torch)


def test_an_onnx_export_of_another_dimension_is_refused(checkpoint):
    change_json(checkpoint / "config.json", "backbone", "dimension", 60_000)
    with pytest.raises(ModelError, match="60000 dimensions"):
        load_encoder(checkpoint)


def test_an_onnx_export_without_its_first_stage_is_refused(checkpoint):
    (checkpoint / "onnx" / "first_stage.onnx").unlink()
    with pytest.raises(ModelError, match=r"first_stage\.onnx"):
        load_encoder(checkpoint)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b'{"model_type": []}', b'{"model_type": {}}'])
def test_a_config_file_without_a_configuration_is_refused(checkpoint, content):
    (checkpoint / "config.json").write_bytes(content)
    with pytest.raises(ModelError):
        load_encoder(checkpoint)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_file_of_many_gigabytes_is_not_read(checkpoint, name):
    os.truncate(checkpoint / name, 20_000_000_000)
    with pytest.raises(ModelError, match="larger than"):
        load_encoder(checkpoint)


@only_posix
@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "model.safetensors", "onnx/second_stage.onnx", "onnx/cache.onnx"]
)
def test_a_pipe_or_device_in_a_checkpoint_is_not_opened(checkpoint, name, kind):
    if name == "model.safetensors":
        shutil.rmtree(checkpoint / "onnx")
    (checkpoint / name).unlink()
    if kind == "pipe":
        os.mkfifo(checkpoint / name)
    else:
        (checkpoint / name).symlink_to("/dev/zero")
    with pytest.raises(ModelError, match=r"not a plain file|no config\.json"):
        load_encoder(checkpoint)


def test_a_header_of_weights_with_many_foreign_names_is_refused(for_torch):
    file = for_torch / "model.safetensors"
    content = file.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    end = len(content) - 8 - size
    header |= {f"z{n}": {"dtype": "F32", "shape": [0], "data_offsets": [end, end]} for n in range(50_000)}
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])
    with pytest.raises(ModelError, match="does not fit") as raised:
        load_encoder(for_torch)
    assert len(str(raised.value)) < 1000


def test_a_model_with_weights_that_are_not_numbers_is_refused(for_torch):
    weights = load_file(for_torch / "model.safetensors")
    save_file({name: np.full_like(array, np.nan) for name, array in weights.items()}, for_torch / "model.safetensors")
    with pytest.raises(ModelError, match="finite numbers"):
        use(for_torch)


@pytest.mark.parametrize("number", [160, 100_000, 2**32 - 1])
def test_a_tokenizer_with_tokens_outside_the_vocabulary_is_refused(checkpoint, number):
    change_json(checkpoint / "tokenizer.json", "model", "vocab", "the", number)
    with pytest.raises(ModelError, match="another model"):
        use(checkpoint)


def _replacement(content, pattern=None):
    return {"type": "Replace", "pattern": pattern or {"String": "a"}, "content": content}


def _charsmap(text):
    return base64.b64encode((4).to_bytes(4, "little") + bytes(4) + text + b"\0").decode()


def _template(n_tokens):
    return {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "x", "type_id": 0}}] * n_tokens + [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"x": {"id": "x", "ids": [1], "tokens": ["x"]}},
    }


BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
SPACES = {"type": "Metaspace", "prepend_scheme": "always", "split": True}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}

GREEDY = {
    "bytes": ("normalizer", {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 30}),
    "bytes of words": ("pre_tokenizer", {"type": "Sequence", "pretokenizers": [BYTES] * 30}),
    "blanks": ("normalizer", {"type": "Sequence", "normalizers": [BERT | {"lowercase": True}] * 90}),
    "marks": (
        "pre_tokenizer",
        {"type": "Sequence", "pretokenizers": [SPACES | {"replacement": mark} for mark in "_-" * 40]},
    ),
    "steps": ("normalizer", {"type": "Sequence", "normalizers": [{"type": "Lowercase"}] * 101}),
    "templates": ("post_processor", {"type": "Sequence", "processors": [_template(1)] * 2}),
    "special pairs": (
        "post_processor",
        {"type": "Sequence", "processors": [{"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}] * 33},
    ),
    "replace": ("normalizer", _replacement("b" * 5000)),
    "chain": ("normalizer", {"type": "Sequence", "normalizers": [_replacement("aa")] * 30}),
    "regex": ("normalizer", {"type": "Sequence", "normalizers": [_replacement("a", {"Regex": ""})] * 30}),
    "prepend": ("normalizer", {"type": "Prepend", "prepend": "b" * 5000}),
    "charsmap": ("normalizer", {"type": "Precompiled", "precompiled_charsmap": _charsmap(b"b" * 5000)}),
    "template": (
        "post_processor",
        {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 5000,
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {},
        },
    ),
    "specials": (
        "post_processor",
        {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "x", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"x": {"id": "x", "ids": [1] * 5000, "tokens": ["x"] * 5000}},
        },
    ),
}


@pytest.mark.parametrize("name", GREEDY)
def test_a_tokenizer_that_makes_far_more_of_a_text_is_refused_before_it_reads_one(checkpoint, name):
    part, value = GREEDY[name]
    change_json(checkpoint / "tokenizer.json", part, value)
    with pytest.raises(ModelError, match="which no tokenizer needs"):
        load_encoder(checkpoint)


def test_a_tokenizer_that_looks_up_endless_words_is_refused(checkpoint):
    change_json(checkpoint / "tokenizer.json", "model", "max_input_chars_per_word", 10**9)
    with pytest.raises(ModelError, match="words of more than 1,000 characters"):
        load_encoder(checkpoint)


def test_a_tokenizer_with_an_endless_mark_of_continuations_is_refused(checkpoint):
    change_json(checkpoint / "tokenizer.json", "model", "continuing_subword_prefix", "#" * 101)
    with pytest.raises(ModelError, match="continuations by more than 100 characters"):
        load_encoder(checkpoint)


def test_a_tokenizer_that_fails_on_some_texts_is_named_when_it_reads_one(checkpoint):
    change_json(checkpoint / "tokenizer.json", "model", "unk_token", "[NONE]")
    encoder = load_encoder(checkpoint)
    with pytest.raises(ModelError, match="The model's tokenizer fails"):
        encoder.encode(["a word in 中"], "query", None)


def test_a_panic_of_a_tokenizer_is_an_error_of_the_model():
    with pytest.raises(ModelError, match=r"fails \(not yet implemented\)"), reporting_failure("The tokenizer fails"):
        raise type("PanicException", (BaseException,), {})("not yet implemented")
    with pytest.raises(KeyboardInterrupt), reporting_failure("The tokenizer fails"):
        raise KeyboardInterrupt


def test_tokenizers_of_the_usual_kinds_are_accepted(checkpoint):
    usual = [
        _replacement('"', {"String": "``"}),
        _replacement(" ", {"Regex": " {2,}"}),
        {"type": "NFKC"},
        {"type": "Prepend", "prepend": "▁"},
        _replacement("▁", {"String": " "}),
        {"type": "Lowercase"},
    ]
    change_json(checkpoint / "tokenizer.json", "normalizer", {"type": "Sequence", "normalizers": usual})
    load_encoder(checkpoint)


def test_a_tokenizer_that_fails_on_every_text_is_refused(checkpoint):
    change_json(checkpoint / "tokenizer.json", "model", "vocab", {})
    with pytest.raises(ModelError, match=r"The tokenizer .* fails \(WordPiece error"):
        use(checkpoint)


class Harm:
    def __reduce__(self):
        return os.mkdir, ("harmed",)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.safetensors"])
def test_a_pickle_is_never_unpickled(for_torch, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (for_torch / "model.safetensors").unlink()
    (for_torch / name).write_bytes(pickle.dumps(Harm()))
    with pytest.raises(ModelError):
        load_encoder(for_torch)
    assert not (tmp_path / "harmed").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("num_hidden_layers", value) for value in (0, -1, 10**12, "x", 1.5)),
        *(("vocab_size", value) for value in (-1, 10**30, 10**7, "x")),
        *(("hidden_size", value) for value in (10**30, 10**6, [])),
        *(("layer_norm_eps", value) for value in (-1, "x", 1e300, float("nan"), 10**400)),
        *(("max_position_embeddings", value) for value in (0, 10**30)),
    ],
)
def test_an_impossible_published_configuration_is_refused(biencoder, name, value):
    change_json(biencoder / "config.json", name, value)
    with pytest.raises(ModelError):
        use(biencoder)


@pytest.mark.parametrize("path", ["../..", "/etc", "0_Transformer/../../x"])
def test_modules_outside_of_a_published_folder_are_refused(biencoder, path):
    modules = [{"idx": 0, "name": "0", "path": path, "type": "sentence_transformers.models.Transformer"}]
    (biencoder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelError, match="outside"):
        load_encoder(biencoder)


def test_the_command_line_refuses_a_hostile_model_in_one_line(docs, checkpoint):
    change_json(checkpoint / "config.json", "backbone", "dimension", "\x1b]0;owned\x07")
    made = cdesearch("index", ".", "--model", checkpoint, cwd=docs, code=2)
    assert "dimension" in made.stderr and "\x1b" not in made.stderr
    assert not (docs / ".cdesearch").exists()
