import json

import pytest
import torch
from hidden_libraries import run_module_without

from cdesearch.errors import ModelError
from cdesearch.models.registry import family_of
from trainer.start import main, start_model


def with_config(source, folder, **changes):
    folder.mkdir()
    for file in source.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((source / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


def test_a_start_embeds_as_the_biencoder_does(bert):
    ids, mask = torch.tensor([[2, 5, 9, 3], [2, 7, 3, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    model, published = start_model(bert), family_of(bert).open(bert)
    biencoder = published.load_network()
    assert model.config.backbone.dimension == published.config.backbone.dimension
    with torch.no_grad():
        torch.testing.assert_close(model.first_stage(ids, mask), biencoder.first_stage(ids, mask))
        torch.testing.assert_close(model.pooled(ids, mask, mask, None)[0], biencoder.first_stage(ids, mask))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"hidden_act": "relu"}, "hidden_act = 'relu'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type = 'relative_key'"),
        ({"num_attention_heads": 5}, "num_attention_heads = 5"),
        ({"hidden_size": None}, "lacks hidden_size"),
        ({"model_type": "modernbert"}, "from BERT alone"),
    ],
)
def test_a_start_with_an_unsupported_config_is_refused(bert, tmp_path, changes, named):
    with pytest.raises(ModelError, match=named):
        start_model(with_config(bert, tmp_path / "other", **changes))


@pytest.mark.slow
@pytest.mark.parametrize("program", ["start", "merge"])
def test_without_onnx_a_checkpoint_is_written_and_one_line_says_what_it_lacks(bert, tmp_path, program):
    inputs = [bert, tmp_path / "out"] if program == "start" else [tmp_path / "out", f"{bert}=1"]
    run = run_module_without("onnx", f"trainer.{program}", *inputs, "--precision", "int8", cwd=tmp_path)
    assert run.returncode == 0 and str(tmp_path / "out") in run.stdout
    assert run.stderr == "onnx is not installed: the checkpoint gets no ONNX graphs. `pip install onnx` helps.\n"
    assert (tmp_path / "out" / "model.safetensors").exists() and not (tmp_path / "out" / "onnx").exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["nowhere", "out"], "nowhere"),
        (["BERT", "BERT"], "would be overwritten"),
        (["bare", "out"], "tokenizer.json"),
        (["a", "b", "--precision", "fp8"], "python -m trainer.start --help"),
    ],
)
def test_a_start_that_cannot_be_made_is_one_line_and_exit_code_2(bert, tmp_path, capsys, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    (with_config(bert, tmp_path / "bare") / "tokenizer.json").unlink()
    before = sorted(path.name for path in bert.iterdir())
    assert main([word.replace("BERT", str(bert)) for word in words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and named in line
    assert not (tmp_path / "out").exists() and sorted(path.name for path in bert.iterdir()) == before
