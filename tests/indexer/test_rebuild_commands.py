"""The commands that messages print rebuild an index with its own model, and work when they are copied."""

import shlex

import pytest
from built import make_index, write_documents
from command import cdesearch
from notes import Notes

from cdesearch.errors import CdesearchError
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.store.index import Index


@pytest.fixture
def docs(tmp_path, server):
    """Indexed with a model on a server."""
    docs = write_documents(tmp_path / "the docs")
    (docs / "old.jsonl").write_text('{"text": "the moon"}\n')
    model = EndpointModel(server.url, "tiny", "query: ")
    make_index([docs], model=model, index=tmp_path / "index")
    return docs


def run_printed(text, cwd):
    """Run the last command of `cdesearch index` in a message."""
    cdesearch(*shlex.split(text[text.rindex("`cdesearch index ") :].split("`")[1])[1:], cwd=cwd)


def model_of(index):
    manifest = Index(index).manifest
    return manifest.model, manifest.served.name, manifest.served.query_prefix


@pytest.mark.parametrize("setting", [{"vectors": "int8"}, {"plain": True}, {"query_prefix": "ask: "}])
def test_a_setting_that_an_index_does_not_have_is_refused_with_a_command_that_keeps_the_others(
    docs, server, tmp_path, setting
):
    if "query_prefix" in setting:
        setting = {"model": EndpointModel(query_prefix="ask: ")}
    with pytest.raises(CdesearchError) as caught:
        make_index([docs], index=tmp_path / "index", **setting)
    run_printed(str(caught.value), tmp_path)
    manifest = Index(tmp_path / "index").manifest
    assert model_of(tmp_path / "index") == (server.url, "tiny", "ask: " if "model" in setting else "query: ")
    assert (manifest.vectors, manifest.added_context) == (
        setting.get("vectors", "float16"),
        not setting.get("plain", False),
    )


@pytest.mark.slow
def test_a_rebuild_of_a_path_says_which_settings_the_defaults_replace(tmp_path, tiny_checkpoint):
    docs = write_documents(tmp_path / "docs")
    make_index([docs], model=tiny_checkpoint, vectors="int8")
    kept, replaced, given = Notes(), Notes(), Notes()
    make_index([], kept, index=docs / ".cdesearch", rebuild=True)
    assert not kept.lines and Index(docs / ".cdesearch").manifest.vectors == "int8"
    make_index([docs], replaced, model=tiny_checkpoint, rebuild=True)
    assert replaced.lines == [
        "The index had vectors in int8, which the defaults replace. `cdesearch index --rebuild` without a"
        " path keeps all settings."
    ]
    make_index([docs], given, rebuild=True)
    assert f"The index had the model {tiny_checkpoint}" in given.lines[0]
