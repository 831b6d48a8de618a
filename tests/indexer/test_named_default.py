"""`--model default`: the model that ships, for an index or a configuration that names another one."""

import shutil
from pathlib import Path

import pytest
from built import make_index
from command import cdesearch

import cdesearch as package
from cdesearch.errors import IndexMismatchError
from cdesearch.models.endpoint_model import parse_model
from cdesearch.store.index import Index


@pytest.fixture(autouse=True)
def _indexed(docs, tmp_path, tiny_checkpoint):
    """Documents that are indexed with a copy of a small model."""
    make_index([docs], model=shutil.copytree(tiny_checkpoint, tmp_path / "model"))


def model_of(docs):
    return Index(docs / ".cdesearch").manifest.model


@pytest.mark.slow
def test_an_index_of_another_model_returns_to_the_default_model(docs):
    options = {"index": docs / ".cdesearch", "model": parse_model("default")}
    with pytest.raises(IndexMismatchError) as caught:
        make_index([], **options)
    assert f"built by the model {model_of(docs)}. This is default, the one that ships." in str(caught.value)
    cdesearch("index", "--rebuild", "--model", "default", cwd=docs)
    assert model_of(docs) is None
    assert "default" in cdesearch("status", cwd=docs).stdout
    make_index([], **options)  # is now the model of the index
    assert "cat" in cdesearch("query", "the cat", "--model", "default", cwd=docs).stdout


def test_python_takes_the_name_default_and_needs_no_confirmation_of_it(docs, tmp_path):
    with package.build(docs, model="default", rebuild=True) as opened:
        assert opened.index.manifest.model is None and opened.search("the cat")
    for model in ("default", None):
        with package.open(shutil.copytree(docs, tmp_path / str(model)), model=model) as opened:
            assert opened.search("the cat")
    assert package.Embedder("default").get_sentence_embedding_dimension() == 384


def test_a_folder_of_that_name_is_named_with_a_dot():
    assert parse_model("./default") == Path("default") != parse_model("default")
    assert parse_model("./multilingual") == Path("multilingual") != parse_model("multilingual")


def test_a_file_of_a_project_may_name_the_default_model(docs, tmp_path, own_config):
    (own_config / "config.toml").write_text(f'[index]\nmodel = "{tmp_path / "model"}"\n')
    (docs / ".cdesearch.toml").write_text('[index]\nmodel = "default"\n')
    cdesearch("index", ".", "--rebuild", cwd=docs)
    assert model_of(docs) is None
