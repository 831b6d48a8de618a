import subprocess
import sys

import pytest
from adapted_index import make_index, masking_checkpoint
from embedding_server import serving
from hidden_libraries import run_module_without
from random_biencoder import biencoder_folder

from cdesearch.encode.load import load_encoder
from cdesearch.models.endpoint_model import EndpointModel


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    make_index(folder / "small", masking_checkpoint(folder / "model"), 12)
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("nothing")
    return folder


def run(folder, *arguments):
    command = [sys.executable, "-m", "cdesearch", "adapt", *map(str, arguments)]
    return subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)


def assert_refused(done, message):
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ") and message in done.stderr
    assert done.stderr.count("error:") == 1 and "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empty"], "no index"),
        (["nowhere"], "nowhere"),
        (["small/docs"], "The index has 12 chunks"),
        (["small/docs", "--out", "model"], "not of an earlier adapt"),
        (["small/docs", "--out", "link"], "link is a symbolic link"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(folder, arguments, message):
    before = sorted(folder.rglob("*"))
    assert_refused(run(folder, *arguments), message)
    assert sorted(folder.rglob("*")) == before


def test_minutes_below_one_are_refused(folder):
    done = run(folder, "small/docs", "--minutes", "0")
    assert done.returncode == 2 and "--minutes" in done.stderr


def test_minutes_that_are_not_a_number_are_refused_as_such(folder):
    assert_refused(run(folder, "small/docs", "--minutes", "nan"), "--minutes must be a number, not nan.")


@pytest.mark.slow
def test_an_index_of_a_model_that_cannot_be_trained_is_refused(folder, tmp_path):
    biencoder_folder(tmp_path / "bert")
    make_index(tmp_path / "published", tmp_path / "bert", 12)
    assert_refused(run(tmp_path, "published/docs"), "is not a checkpoint of cdesearch")
    encoder = load_encoder(folder / "model")
    with serving(lambda texts: encoder.encode(texts, "document", None)) as server:
        make_index(tmp_path / "served", EndpointModel(server.url, "tiny"), 12)
        assert_refused(run(tmp_path, "served/docs"), "is on a server")


@pytest.mark.slow
def test_an_index_whose_model_has_changed_is_refused(tmp_path):
    model = masking_checkpoint(tmp_path / "model")
    make_index(tmp_path / "here", model, 12)
    text = (model / "config.json").read_text()
    (model / "config.json").write_text(text.replace('"span_tokens": 24', '"span_tokens": 20'))
    assert_refused(run(tmp_path, "here/docs"), "has changed since the index was built")


def test_without_torch_the_extra_is_named(folder):
    done = run_module_without("torch", "cdesearch", "adapt", "small/docs", cwd=folder)
    assert_refused(done, "pip install 'cdesearch[train]'")


def test_help_says_that_it_is_experimental(folder):
    done = run(folder, "--help")
    assert done.returncode == 0 and "experimental" in done.stdout
