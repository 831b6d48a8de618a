"""A published model is exported on its first use, and then runs without torch."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from built import make_index
from hidden_libraries import run_module_without
from notes import Notes
from random_biencoder import NAMES, biencoder_folder
from small_corpus import TEXTS

import cdesearch
from cdesearch.encode import exports
from cdesearch.encode.backends.onnx import OnnxRuntime
from cdesearch.encode.backends.onnx_export import write_biencoder
from cdesearch.encode.embedder import context_of_texts
from cdesearch.encode.exports import GRAPH, REFUSED, export_folder, find_export
from cdesearch.encode.load import load_encoder
from cdesearch.models.registry import family_of
from cdesearch.progress import Silent
from indexer.build import build
from indexer.settings import Options
from indexer.warm import Warm

pytest.importorskip("transformers")
pytest.importorskip("onnx")


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def bert(own_cache, tmp_path):
    return biencoder_folder(tmp_path / "model")


def place(folder):
    return export_folder(family_of(folder).open(folder).fingerprint)


def test_the_first_build_exports_a_model_and_later_runs_use_the_export(bert, documents, monkeypatch):
    exact = load_encoder(bert)
    notes = Notes()
    make_index([documents], notes, model=bert)
    assert find_export(place(bert)) is not None and not any("torch" in line for line in notes.lines)
    encoder = load_encoder(bert)
    assert (encoder.precision, encoder.fingerprint) == ("int8", exact.fingerprint)
    cosines = (encoder.encode(TEXTS, "document", None) * exact.encode(TEXTS, "document", None)).sum(axis=1)
    assert 0.98 < cosines.mean() < 0.999999
    assert load_encoder(bert, plain=True).precision == "int8", "a plain model has the same network"
    assert cdesearch.open(documents).search("water", mode="hybrid")
    assert [folder.name for folder in place(bert).parent.iterdir()] == [place(bert).name]


def test_the_export_writes_nothing_to_the_terminal(bert, capfd):
    encoder = load_encoder(bert)
    capfd.readouterr()
    assert exports.export(encoder, encoder.unexported, TEXTS) is None and find_export(place(bert)) is not None
    assert capfd.readouterr() == ("", "")


def test_a_model_that_is_loaded_already_continues_with_the_export(bert, documents):
    encoder = load_encoder(bert)
    encoder.encode_queries(TEXTS, None)
    build([documents], Options(model=bert), Silent(), Warm(encoder))
    assert encoder.precision == "int8" and encoder.unexported is None
    alone = [encoder.encode([text], "query", None)[0] for text in TEXTS]
    np.testing.assert_array_equal(encoder.encode_queries(TEXTS, None)[0], alone)


@pytest.mark.slow
def test_with_an_export_neither_torch_nor_a_library_of_models_is_imported(bert, documents):
    make_index([documents], model=bert)
    (documents / "new.md").write_text("water in the new river")
    program = (
        "import sys, cdesearch\n"
        "updated = cdesearch.build(sys.argv[1])\nassert updated.report.embedded == 1\nassert updated.search('water')\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'huggingface_hub', 'onnx'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program, str(documents)], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.slow
def test_an_export_that_differs_too_much_is_not_used_and_not_made_again(bert, documents, monkeypatch):
    monkeypatch.setattr(exports, "LEAST_COSINE", 1.1)
    notes = Notes()
    make_index([documents], notes, model=bert)
    (line,) = (line for line in notes.lines if "torch" in line)
    assert "The model runs on torch: its int8 export has a cosine of" in line
    assert sorted(file.name for file in place(bert).iterdir()) == [REFUSED]
    assert 0.5 < json.loads((place(bert) / REFUSED).read_text())["cosine"] < 1
    assert load_encoder(bert).precision == "fp32"
    notes = Notes()
    make_index([documents], notes, rebuild=True)
    assert not any("torch" in line for line in notes.lines)


def test_without_a_place_for_the_export_the_model_stays_on_torch(bert, documents, own_cache):
    own_cache.write_text("not a folder")
    notes = Notes()
    make_index([documents], notes, model=bert)
    (line,) = (line for line in notes.lines if "torch" in line)
    assert "cannot be exported to ONNX" in line
    assert load_encoder(bert).precision == "fp32" and cdesearch.open(documents).search("water")


@pytest.mark.slow
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.usefixtures("own_cache")  # so that no export of another test takes the place of torch
def test_the_graph_of_every_architecture_computes_what_torch_computes(tmp_path, kind):
    folder = biencoder_folder(tmp_path / "model", kind)
    network = family_of(folder).open(folder).load_network()
    write_biencoder(network, 32, tmp_path / GRAPH, "fp32")
    exact = load_encoder(folder, plain=True)
    found = exact.on(OnnxRuntime(tmp_path, 32))
    context = context_of_texts(exact, TEXTS[:1], 1, 0)
    for texts in (TEXTS, TEXTS[:1]):
        for given in (None, context):
            np.testing.assert_allclose(
                found.encode(texts, "query", given), exact.encode(texts, "query", given), atol=1e-5
            )
    assert network.is_causal == (kind == "qwen3") and torch.is_grad_enabled()


@pytest.mark.slow
def test_without_torch_a_model_without_its_export_or_on_another_device_names_the_extra_that_runs_it(bert, documents):
    make_index([documents], model=bert)
    for words, named in (("index --device cuda", "the device cuda needs it"), ("query x --mode dense", "no ONNX")):
        if "query" in words:
            (place(bert) / GRAPH).unlink()
        run = run_module_without("torch transformers onnx", "cdesearch", *words.split(), cwd=documents)
        assert run.returncode == 2 and named in run.stderr and "Traceback" not in run.stderr
        assert "pip install 'cdesearch[hub]'" in run.stderr
        assert ("download.pytorch.org/whl/cpu" in run.stderr) == (sys.platform == "linux")
