"""An index finds its model, also after the folder of the model was moved."""

import pytest
from built import make_index
from command import cdesearch as cdesearch_command
from random_biencoder import biencoder_folder, keep_on_torch
from small_corpus import write_corpus

import cdesearch
from cdesearch.cli.status import read_status
from cdesearch.errors import ModelError
from cdesearch.store.index import Index


@pytest.fixture
def moved(tmp_path):
    """Indexed documents, and the new place of the model that built the index."""
    pytest.importorskip("transformers")
    documents, model = write_corpus(tmp_path / "documents"), biencoder_folder(tmp_path / "model")
    keep_on_torch(model)
    make_index([documents], model=model)
    return documents, model.rename(tmp_path / "elsewhere")


@pytest.mark.slow
def test_every_command_names_the_lost_folder_of_the_model_and_the_command_for_its_new_place(moved):
    documents, model = moved
    for use in (lambda: cdesearch.open(documents).search("water"), lambda: make_index([documents])):
        with pytest.raises(ModelError) as caught:
            use()
        assert f"in {model.with_name('model')}, and there is no such folder any more" in str(caught.value)
        assert f"`cdesearch index --model NEW_FOLDER --index {documents / '.cdesearch'}`" in str(caught.value)
        assert f"`cdesearch index --rebuild --model default --index {documents / '.cdesearch'}`" in str(caught.value)
        assert "\n" not in str(caught.value)
    said = "and there is no such folder any more"
    assert said in read_status(Index.open(documents))["lost_model"]
    result = cdesearch_command("doctor", "--index", documents, cwd=documents)
    assert said in result.stdout and "is sound" in result.stdout


def test_an_index_goes_on_with_its_model_in_another_folder_and_encodes_nothing_again(moved):
    documents, model = moved
    report = make_index([], model=model, index=documents / ".cdesearch")
    assert not report.changed and report.embedded == 0
    assert Index.open(documents).manifest.model == str(model)
    assert cdesearch.open(documents).search("water"), "the model at its new place is confirmed"
