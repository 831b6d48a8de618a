import os
import shutil
import subprocess
import sys

import pytest

from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from cdesearch.models.model_card import read_card
from trainer.publish import assemble


def test_the_assembled_folder_is_the_checkpoint_and_its_card(tiny_checkpoint, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(tiny_checkpoint, run / "checkpoint")
    (run / "checkpoint" / "notes.txt").write_text("mine")
    written = assemble(run / "checkpoint", "someone/small-model", None, tmp_path / "out")
    names = {file.relative_to(tmp_path / "out").as_posix() for file in written}
    expected = {file.relative_to(tiny_checkpoint).as_posix() for file in tiny_checkpoint.rglob("*") if file.is_file()}
    assert names == expected | {"README.md"} and any(name.startswith("onnx/") for name in names)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "cdesearch index FOLDER --model someone/small-model" in card and "2 layers and 16 dimensions" in card
    fingerprints = [load_encoder(folder).fingerprint for folder in (tmp_path / "out", tiny_checkpoint)]
    assert fingerprints[0] == fingerprints[1]


def test_a_card_of_ones_own_comes_first(tiny_checkpoint, tmp_path):
    own = shutil.copytree(tiny_checkpoint, tmp_path / "own")
    (own / "README.md").write_text("---\nlicense: mit\n---\n")
    assemble(own, "a/b", None, tmp_path / "one")
    assert read_card(tmp_path / "one").licence == "mit"
    (tmp_path / "card.md").write_text("---\nlicense: apache-2.0\n---\n")
    assemble(own, "a/b", tmp_path / "card.md", tmp_path / "two")
    assert read_card(tmp_path / "two").licence == "apache-2.0"
    with pytest.raises(InputError, match=r"There is no file .*none\.md"):
        assemble(own, "a/b", tmp_path / "none.md", tmp_path / "three")


@pytest.mark.parametrize("name", ["README.md", "tokenizer.json", "onnx/second_stage.onnx"])
def test_what_links_point_to_is_never_uploaded(tiny_checkpoint, tmp_path, name):
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "checkpoint")
    (tmp_path / "secret").write_text("secret")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="is a link, and what it points to is not uploaded"):
        assemble(folder, "a/b", None, tmp_path / "out")


def test_only_graphs_and_models_of_cdesearch_are_uploaded(tiny_checkpoint, bert, tmp_path):
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "checkpoint")
    (folder / "onnx" / "mine.onnx").write_text("x")
    assert not any(file.name == "mine.onnx" for file in assemble(folder, "a/b", None, tmp_path / "out"))
    with pytest.raises(InputError, match="is a model of another kind"):
        assemble(bert, "a/b", None, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("small", {}, "small is not the name of a repository. Name it ORGANISATION/NAME."),
        ("a/b", {}, "There is no token for huggingface.co on this computer. Run `hf auth login`, or set HF_TOKEN."),
        ("a/b", {"HF_TOKEN": "hf_x", "HF_HUB_OFFLINE": "1"}, "cannot be uploaded to a/b ("),
        ("a/b", {"HF_TOKEN": "hf_x", "HF_ENDPOINT": "http://127.0.0.1:9"}, "cannot be uploaded to a/b ("),
    ],
)
def test_without_a_name_a_token_or_a_network_there_is_one_clear_line(
    tiny_checkpoint, tmp_path, name, settings, message
):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))}
    environment |= {"HOME": str(tmp_path), "HF_HOME": str(tmp_path), **settings}
    command = [sys.executable, "-m", "cdesearch", "push-to-hub", str(tiny_checkpoint), name]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 2 and run.stdout == "", run.stderr
    assert message in run.stderr and run.stderr.startswith("error: ") and run.stderr.count("\n") == 1
