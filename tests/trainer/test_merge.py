import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from built import write_files
from conftest import TINY, make_model

import trainer
from cdesearch.errors import InputError, ModelError
from cdesearch.models.contextual.model import load_checkpoint
from trainer.export import export
from trainer.merge import main, merge


def test_the_mean_of_two_checkpoints_is_theirs_weight_by_weight(tiny_checkpoint, closed_checkpoint, tmp_path):
    export(make_model(seed=1), tiny_checkpoint / "tokenizer.json", tmp_path / "other")
    merged = merge({tiny_checkpoint: 3, tmp_path / "other": 1})
    one, other = load_checkpoint(tiny_checkpoint).state_dict(), load_checkpoint(tmp_path / "other").state_dict()
    for name, tensor in merged.state_dict().items():
        torch.testing.assert_close(tensor, 0.75 * one[name] + 0.25 * other[name])
    assert merged.config.statistics == load_checkpoint(tiny_checkpoint).config.statistics
    with pytest.raises(ModelError, match="other shapes"):
        merge({tiny_checkpoint: 1, closed_checkpoint: 1})
    with pytest.raises(InputError, match="negative"):
        merge({tiny_checkpoint: 1, tmp_path / "other": -1})


def test_checkpoints_that_read_texts_differently_are_not_merged(tiny_checkpoint, tmp_path):
    model = make_model(seed=1)
    text = (tiny_checkpoint / "tokenizer.json").read_text()
    (tmp_path / "tokenizer.json").write_text(text.replace('"cat"', '"cattle"'))
    export(model, tmp_path / "tokenizer.json", tmp_path / "words")
    with pytest.raises(ModelError, match="words has another tokenizer than"):
        merge({tiny_checkpoint: 1, tmp_path / "words": 1})
    model.config = replace(model.config, query_prefix="query: ")
    export(model, tiny_checkpoint / "tokenizer.json", tmp_path / "prefix")
    with pytest.raises(ModelError, match=r"prefix has the prefixes \('query: ', ''\), and .* has \('', ''\)"):
        merge({tiny_checkpoint: 1, tmp_path / "prefix": 1})


def arc(one, other, share):
    """Spherical interpolation in NumPy; a line if the tensors are nearly parallel."""
    one, other = (tensor.numpy().astype(float) for tensor in (one, other))
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    cosine = (one * other).sum() / lengths if lengths else 1.0
    if abs(cosine) > 0.9995:
        return (1 - share) * one + share * other
    angle = np.arccos(cosine)
    return (np.sin((1 - share) * angle) * one + np.sin(share * angle) * other) / np.sin(angle)


def test_two_checkpoints_are_merged_along_an_arc_tensor_by_tensor(tiny_checkpoint, tmp_path):
    export(make_model(seed=1), tiny_checkpoint / "tokenizer.json", tmp_path / "other")
    folders = [tiny_checkpoint, tmp_path / "other"]
    assert main([str(tmp_path / "out"), f"{folders[0]}=3", f"{folders[1]}=1", "--slerp"]) == 0
    one, other, merged = (load_checkpoint(folder).state_dict() for folder in (*folders, tmp_path / "out"))
    means = 0
    for name, tensor in merged.items():
        np.testing.assert_allclose(tensor.numpy(), arc(one[name], other[name], 0.25), atol=1e-5, err_msg=name)
        means += torch.allclose(tensor, 0.75 * one[name] + 0.25 * other[name], atol=1e-5)
    assert 0 < means < len(merged), "tensors that are equal or zero, and others"


def test_the_merged_checkpoint_has_the_windows_of_the_first(tmp_path, tiny_checkpoint):
    windowed = replace(TINY, window_tokens=64)
    for seed, name, config in ((0, "contextual", windowed), (1, "triplet", TINY)):
        export(make_model(config, seed=seed), tiny_checkpoint / "tokenizer.json", tmp_path / name)
    names = ["contextual", "triplet"]
    for first, other in (names, names[::-1]):
        merged = merge({tmp_path / first: 1, tmp_path / other: 1}, along_arc=True)
        assert merged.config.window_tokens == (64 if first == "contextual" else 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["MODEL=nan"], "MODEL=nan is not FOLDER=SHARE"),
        (["MODEL=1", "--slerp"], "--slerp merges two checkpoints, not 1"),
        (["MODEL=1", "MODEL/=3"], "A folder is named twice."),
        (["MODEL=1", "decoder=1"], "decoder cannot be a start: model_type is 'qwen3'"),
    ],
)
def test_what_cannot_be_merged_is_refused_in_one_line(tiny_checkpoint, tmp_path, capsys, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "decoder", {"config.json": '{"model_type": "qwen3"}'})
    assert main(["out", *(word.replace("MODEL", str(tiny_checkpoint)) for word in words)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message.replace("MODEL", str(tiny_checkpoint)) in line and not (tmp_path / "out").exists()


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_input_is_not_overwritten_under_any_of_its_names(tiny_checkpoint, tmp_path, capsys):
    one = shutil.copytree(tiny_checkpoint, tmp_path / "one")
    (tmp_path / "link").symlink_to(one)
    before = contents(one)
    for out in (one, tmp_path / "link", one / ".." / "one"):
        assert main([str(out), f"{one}=1"]) == 2
        assert "would be overwritten" in capsys.readouterr().err
    assert contents(one) == before


def test_a_folder_that_is_not_a_checkpoint_is_left_alone(tiny_checkpoint, tmp_path, capsys):
    (tmp_path / "config.json").write_text('{"mine": true}')
    before = contents(tmp_path)
    assert main([str(tmp_path), f"{tiny_checkpoint}=1"]) == 2
    assert "is not empty and not a checkpoint" in capsys.readouterr().err
    assert main([str(tmp_path / "config.json"), f"{tiny_checkpoint}=1"]) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert contents(tmp_path) == before


@pytest.mark.slow
def test_the_command_that_uses_the_checkpoint_is_all_that_an_int8_merge_prints(tiny_checkpoint, tmp_path):
    words = [sys.executable, "-m", "trainer.merge", "out", f"{tiny_checkpoint}=1", "--precision", "int8"]
    environment = os.environ | {"PYTHONPATH": str(Path(trainer.__file__).parents[1])}
    run = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "The merged checkpoint is in out. Next: cdesearch index FOLDER --model out\n"
