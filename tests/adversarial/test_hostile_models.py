"""Checkpoint folders from anywhere: each is refused in one line, or works."""

import json
import os
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from command import cdesearch
from random_biencoder import biencoder_folder
from safetensors.numpy import load_file, save_file

from cdesearch.encode.load import load_encoder
from cdesearch.errors import ModelError


@pytest.fixture
def checkpoint(tiny_checkpoint, tmp_path):
    return shutil.copytree(tiny_checkpoint, tmp_path / "model")


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


# The configuration and the weights.

BACKBONE = ("vocabulary", "dimension", "n_layers", "n_heads", "inner", "n_positions")
FIELDS = [
    *(("backbone", name, value) for name in BACKBONE for value in (-1, 10**12, "x")),
    ("backbone", "norm_eps", float("nan")),
    ("statistics", "ridge", -1),
    *(("context_size", value) for value in (0, 10**12, None)),
    ("max_tokens", 0),
    ("span_tokens", 0),
    ("query_prefix", "the " * 100),
    ("context_attention", "x"),
    ("context_sink", 1),
    ("window_tokens", 64.5),
    ("window_tokens", 129),
    ("rope", 1),
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
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("vocab_size", value) for value in (-1, 10**30, 10**7)),
        *(("hidden_size", value) for value in (10**30, 10**6, [])),
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


class Harm:
    def __reduce__(self):
        return os.mkdir, ("harmed",)


def config(*change):
    return lambda folder: change_json(folder / "config.json", *change)


def written(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def replaced(name, make):
    """Remove a file, and make something else in its place."""

    def replace(folder):
        (folder / name).unlink(missing_ok=True)
        make(folder / name)

    return replace


def large(name):
    return lambda folder: os.truncate(folder / name, 20_000_000_000)  # a sparse file


def not_numbers(folder):
    file = folder / "model.safetensors"
    save_file({name: np.full_like(array, np.nan) for name, array in load_file(file).items()}, file)


FILES = ("config.json", "tokenizer.json")
SIZES = {"vocabulary": 60_000, "dimension": 60_000, "n_layers": 1_000, "inner": 60_000}
PICKLE = pickle.dumps(Harm())
FOR_ONNX = [
    *((written("config.json", content), "") for content in (b"[" * 100_000, b'{"a":' * 100_000, b'{"model_type": []}')),
    (config("backbone", "dimension", 60_000), "60000 dimensions"),
    (written("tokenizer.json", b"{"), "tokenizer.json cannot be read"),
    (written("onnx/second_stage.onnx", b"x"), "cannot be loaded"),
    (replaced("onnx/first_stage.onnx", lambda _: None), r"first_stage\.onnx"),
    *((large(name), "larger than") for name in FILES),
    *((replaced(name, os.mkfifo), "not a plain file") for name in ("tokenizer.json", "onnx/second_stage.onnx")),
    *((replaced(name, lambda file: file.symlink_to("/dev/zero")), "plain file|no config") for name in FILES),
]
FOR_TORCH = [
    *((config("backbone", name, size), r"does not fit its config\.json") for name, size in SIZES.items()),
    (not_numbers, "finite numbers"),
    (replaced("model.safetensors", lambda file: file.write_bytes(PICKLE)), ""),
    (replaced("model.safetensors", lambda file: file.with_name("pytorch_model.bin").write_bytes(PICKLE)), ""),
]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes or devices")
@pytest.mark.parametrize(
    ("break_it", "message", "has_onnx"),
    [*((*row, True) for row in FOR_ONNX), *((*row, False) for row in FOR_TORCH)],
)
def test_a_broken_checkpoint_is_refused_and_nothing_of_it_is_run(checkpoint, break_it, message, has_onnx):
    if not has_onnx:
        shutil.rmtree(checkpoint / "onnx")
    break_it(checkpoint)
    with pytest.raises(ModelError) as refused:
        use(checkpoint)
    assert re.search(message, str(refused.value)) and not Path("harmed").exists()


# The tokenizer.


TOKENIZERS = {
    **{f"id {id_}": ("vocab", "the", id_, "another model") for id_ in (160, 100_000, 2**32 - 1)},
    "no words": ("vocab", {}, r"The tokenizer .* fails \(WordPiece error"),
    "no unknown token": ("unk_token", "[NONE]", "The model's tokenizer fails"),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_tokenizer_of_another_model_or_that_fails_is_refused(checkpoint, name):
    *change, message = TOKENIZERS[name]
    change_json(checkpoint / "tokenizer.json", "model", *change)
    with pytest.raises(ModelError, match=message):
        load_encoder(checkpoint).encode(["the word in 中"], "query", None)


def test_the_command_line_refuses_a_hostile_model_in_one_line(docs, checkpoint):
    change_json(checkpoint / "config.json", "backbone", "dimension", "\x1b]0;owned\x07")
    made = cdesearch("index", ".", "--model", checkpoint, cwd=docs, code=2)
    assert "dimension" in made.stderr and "\x1b" not in made.stderr
    assert not (docs / ".cdesearch").exists()
