"""Every model family and every command in a process of its own, to find faults that depend on imports."""

import json
import subprocess
import sys

import pytest
from command import run_here
from process import clean_environment, run_cdesearch
from random_biencoder import biencoder_folder
from random_released import released_folder

from cdesearch.progress import Silent
from indexer.build import build
from indexer.settings import Options

pytestmark = pytest.mark.slow


@pytest.fixture
def user(tmp_path):
    """A folder of documents, and the options with which its user runs a command."""
    for name in ("home", "docs"):
        (tmp_path / name).mkdir()
    for number, word in enumerate(["cat", "dog", "water", "moon", "bread"]):
        (tmp_path / "docs" / f"{number}.md").write_text(f"# The {word}\n\nthe {word} is in the house\n")
    return {"cwd": tmp_path, "env": clean_environment(tmp_path / "home")}


def model_of(family, top, request):
    if family == "own_torch":
        return request.getfixturevalue("joint_checkpoint")
    if family == "biencoder":
        pytest.importorskip("transformers")
        return biencoder_folder(top / "model")
    return released_folder(top / "model", family.removeprefix("released_"))[0]


def as_json(*arguments, **user):
    return json.loads(run_cdesearch(*arguments, "--json", **user).stdout)


@pytest.mark.parametrize("family", ["own_torch", "released_v1", "released_v2", "biencoder"])
def test_a_model_on_torch_answers_in_processes_of_its_own(user, family, request):
    model = model_of(family, user["cwd"], request)
    build([user["cwd"] / "docs"], Options(model=model), Silent())
    answer = as_json("query", "water", "--index", "docs", "--model", model, **user)
    assert "2.md" in {hit["path"] for hit in answer["hits"]}


def test_every_command_works_with_an_onnx_model(user, tiny_checkpoint):
    run_cdesearch("index", "docs", "--model", tiny_checkpoint, **user)
    for mode in ("hybrid", "dense", "text"):
        assert as_json("query", "water", "--index", "docs", "--mode", mode, **user)["hits"]
    (user["cwd"] / "docs" / "new.md").write_text("the light of the river")
    assert as_json("status", "--index", "docs", **user)["new_files"] == 1
    assert as_json("index", "docs", **user)["embedded"] == 1
    refreshed = run_here(["index", "docs", "--refresh-context", "--model", tiny_checkpoint, "--json"], user["cwd"])
    assert json.loads(refreshed.stdout)["changed"]
    assert "ships" in run_cdesearch("models", **user).stdout


def test_a_program_builds_and_searches_without_a_main_guard(user):
    (user["cwd"] / "program.py").write_text(
        "import cdesearch\nprint(cdesearch.build('docs').search('water', k=1)[0].chunk.path)"
    )
    run = subprocess.run([sys.executable, "program.py"], **user, capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("2.md\n", "")
