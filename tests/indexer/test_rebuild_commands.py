"""The commands that messages print rebuild an index with its own model, and work when they are copied."""

import shlex

import pytest
from built import make_index, write_documents
from command import cdesearch
from notes import Notes

from cdesearch.errors import CdesearchError
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.store.index import Index
from cdesearch.store.trust import trust_file


@pytest.fixture
def docs(tmp_path, server):
    """Indexed with a model on a server."""
    docs = write_documents(tmp_path / "the docs")
    (docs / "old.jsonl").write_text('{"text": "the moon"}\n')
    model = EndpointModel(server.url, "tiny", "query: ")
    make_index([docs], model=model, index=tmp_path / "index")
    return docs


def run_printed(text, cwd, **replaced):
    """Run the last command of `cdesearch index` in a message, with the placeholders that it explains replaced."""
    arguments = shlex.split(text[text.rindex("`cdesearch index ") :].split("`")[1])[1:]
    assert "PATH" not in arguments or "PATH" in replaced, text
    cdesearch(*[replaced.get(argument, argument) for argument in arguments], cwd=cwd)


def model_of(index):
    manifest = Index(index).manifest
    return manifest.model, manifest.served.name, manifest.served.query_prefix


def test_a_source_that_is_gone_is_replaced_with_the_model_of_the_index(docs, server, tmp_path):
    index = tmp_path / "index"
    moved = docs.rename(tmp_path / "texts")
    shown = cdesearch("status", "--index", index, cwd=tmp_path).stderr
    assert "Its documents stay in the index until you run" in shown
    run_printed(shown, tmp_path, PATH=moved)
    assert Index(index).sources == (moved,) and model_of(index) == (server.url, "tiny", "query: ")


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


def test_the_server_of_an_index_that_nobody_has_confirmed_is_not_part_of_a_command(docs, server, tmp_path):
    docs.rename(tmp_path / "texts")
    trust_file().unlink()
    shown = cdesearch("status", "--index", tmp_path / "index", cwd=tmp_path).stderr
    assert f"`cdesearch index --rebuild PATH --index {tmp_path / 'index'}`" in shown and server.url not in shown
