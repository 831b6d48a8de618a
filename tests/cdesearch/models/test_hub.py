"""Ids on the hub, with the real huggingface_hub: its cache, a server on this machine, and no server."""

import json
import shutil
from pathlib import Path

import pytest
from built import make_index, write_files
from command import run_here
from conftest import make_tokenizer
from local_hub import COMMIT, serving
from random_biencoder import biencoder_folder, keep_on_torch
from random_released import config_of
from small_corpus import write_corpus

from cdesearch.errors import ModelError
from cdesearch.models.catalog import KNOWN_MODELS, list_models, models_reading
from cdesearch.models.hub import checkpoint_folder, is_id
from cdesearch.store.index import Index

NOBODY = "http://127.0.0.1:9"
TOKENIZER = "answerdotai/ModernBERT-base"

huggingface_hub = pytest.importorskip("huggingface_hub")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and an address without a server."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", NOBODY)
    return tmp_path / "cache"


def put_in_cache(cache, name, source, but=()):
    """A folder in the layout of huggingface_hub, without the files in `but`."""
    home = cache / f"models--{name.replace('/', '--')}"
    snapshot = home / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(COMMIT)
    (home / "blobs").mkdir()
    for number, file in enumerate(sorted(source.rglob("*"))):
        if file.is_file() and file.name not in but:
            link = snapshot / file.relative_to(source)
            link.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, home / "blobs" / str(number))
            link.symlink_to(home / "blobs" / str(number))
    return snapshot


def at(url, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url)
    monkeypatch.setattr(
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}"
    )


def message(model):
    with pytest.raises(ModelError) as caught:
        checkpoint_folder(model)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_ids_are_distinguished_from_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert is_id(Path("jxm/cde-small-v2"))
    assert not any(is_id(Path(name)) for name in ("model", "a/b/c", "../b", "/a/b", "a /b"))
    (tmp_path / "jxm" / "cde-small-v2").mkdir(parents=True)
    assert not is_id(Path("jxm/cde-small-v2"))


def test_a_cached_model_is_used_without_network_and_remembered_by_its_id(cache, tiny_checkpoint, tmp_path):
    snapshot = put_in_cache(cache, "me/model", tiny_checkpoint)
    model = Path("me/model")
    assert checkpoint_folder(model) == snapshot
    docs = write_files(tmp_path / "docs", {"a.txt": "the cat"})
    make_index([docs], model=model)
    assert Index.open(docs).manifest.model == "me/model"
    (docs / "b.txt").write_text("the dog")
    assert make_index([docs]).embedded == 1


def test_a_model_that_is_cached_in_part_is_not_used(cache, tiny_checkpoint, tmp_path):
    put_in_cache(cache, "me/model", tiny_checkpoint, but=("model.safetensors",))
    error = message(Path("me/model"))
    assert "the cache has no complete model of that name" in error and "hf download me/model" in error


def test_a_model_is_fetched_once(cache, tiny_checkpoint, tmp_path, monkeypatch, capfd):
    model = Path("me/model")
    with serving({"me/model": tiny_checkpoint}) as url:
        at(url, monkeypatch)
        folder = checkpoint_folder(model)
        assert "Fetching" in capfd.readouterr().err
        assert "no public model of that name" in message(Path("me/other"))
    names = ["config.json", "tokenizer.json", "model.safetensors", "onnx/second_stage.onnx"]
    assert all((folder / name).read_bytes() == (tiny_checkpoint / name).read_bytes() for name in names)
    assert checkpoint_folder(model) == folder


def test_v2_comes_with_the_tokenizer_that_it_is_published_without(cache, tmp_path, monkeypatch):
    published, backbone = tmp_path / "v2", tmp_path / "backbone"
    published.mkdir()
    backbone.mkdir()
    (published / "config.json").write_text(json.dumps(config_of("v2")))
    (published / "model.safetensors").write_bytes(b"weights")
    make_tokenizer().save(str(backbone / "tokenizer.json"))
    model = Path("jxm/cde-small-v2")
    with serving({"jxm/cde-small-v2": published, TOKENIZER: backbone}) as url:
        at(url, monkeypatch)
        checkpoint_folder(model)
    assert huggingface_hub.try_to_load_from_cache(TOKENIZER, "tokenizer.json") is not None


def test_without_network_the_error_says_how_to_copy_the_model(cache, tmp_path, monkeypatch):
    error = message(Path("jxm/cde-small-v2"))
    assert "hf download jxm/cde-small-v2 --local-dir cde-small-v2" in error and f"hf download {TOKENIZER}" in error
    assert "give its path as the model" in error and "--model" not in error
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "the download failed: HF_HUB_OFFLINE is set" in message(Path("jxm/cde-small-v2"))


def test_the_list_of_models(cache, tiny_checkpoint):
    ships, *known = list_models()
    assert (ships.state, ships.dimension, ships.licence, ships.languages) == ("ships", 384, "apache-2.0", "en")
    assert [row.name for row in known] == [model.name for model in KNOWN_MODELS]
    put_in_cache(cache, "me/model", tiny_checkpoint)
    put_in_cache(cache, "jxm/cde-small-v1", tiny_checkpoint)
    put_in_cache(cache, "me/half", tiny_checkpoint, but=("model.safetensors",))
    rows = {row.name: row.state for row in list_models()}
    others = {model.name: "to fetch" for model in KNOWN_MODELS if model.name != "jxm/cde-small-v1"}
    assert rows == {"(default)": "ships", "me/model": "cached", "jxm/cde-small-v1": "cached"} | others


@pytest.mark.slow
def test_the_known_models_are_those_of_the_registry_of_mteb():
    """Except the context model of pplx-embed, which mteb does not have."""
    mteb = pytest.importorskip("mteb")
    for known in KNOWN_MODELS:
        if "context" not in known.name:
            meta = mteb.get_model_meta(known.name, fetch_from_hf=False)
            assert (meta.embed_dim, meta.license) == (known.dimension, known.licence)
            assert known.codes == ("en",) if meta.languages == ["eng-Latn"] else known.codes != ("en",)


@pytest.mark.usefixtures("cache", "own_config")
def test_a_folder_that_an_index_uses_is_listed(tmp_path, monkeypatch):
    pytest.importorskip("transformers")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own_cache"))
    model = biencoder_folder(tmp_path / "model")
    (model / "README.md").write_text("---\nlicense: mit\n---\n")
    make_index([write_corpus(tmp_path / "first")])
    # The model that ships leaves no trace in a new home folder but the place of its index.
    assert [one.name for one in (tmp_path / "own_cache").rglob("*") if one.is_file()] == ["built.json"]
    keep_on_torch(model)
    make_index([write_corpus(tmp_path / "documents")], model=model)
    (row,) = (line for line in run_here(["models"], tmp_path).stdout.splitlines() if str(model) in line)
    assert row.startswith("folder") and " mit " in row


def test_the_advised_readers_of_languages_are_known_models_and_those_in_the_cache_come_first(cache, tiny_checkpoint):
    small, large = "intfloat/multilingual-e5-small", "Qwen/Qwen3-Embedding-0.6B"
    assert models_reading(["de", "en"]) == [small, large]
    put_in_cache(cache, "me/chat", tiny_checkpoint)
    put_in_cache(cache, large, tiny_checkpoint)
    assert models_reading(["de", "en"]) == [large, small]
    assert models_reading(["en"])[:2] == [large, "sentence-transformers/all-MiniLM-L6-v2"]


def test_a_model_is_fetched_by_a_command_of_its_own(cache, tiny_checkpoint, monkeypatch, tmp_path):
    with serving({"me/model": tiny_checkpoint}) as url:
        at(url, monkeypatch)
        fetched = run_here(["models", "fetch", "me/model"], tmp_path)
    assert (fetched.returncode, "me/model is in" in fetched.stdout) == (0, True)
    assert "Licence: not stated" in fetched.stdout
    listed = run_here(["models"], tmp_path)
    assert "me/model" in listed.stdout and "licence" in listed.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["fetch", "me/other"], "the download failed"),
        (["fetch", "model"], "is not the id of a model"),
        (["fetch"], "cdesearch models fetch ORG/NAME"),
        (["me/model"], "cdesearch models fetch ORG/NAME"),
    ],
)
def test_what_cannot_be_fetched_is_one_line(cache, tmp_path, words, named):
    failed = run_here(["models", *words], tmp_path)
    assert failed.returncode == 2 and named in failed.stderr and len(failed.stderr.splitlines()) <= 2
