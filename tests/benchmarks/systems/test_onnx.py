import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from benchmarks.systems.onnx import OnnxBiencoder, is_onnx_alone
from tests.conftest import make_tokenizer

TABLE = np.random.default_rng(0).standard_normal((200, 4)).astype(np.float32)
TEXTS = ["the cat and the moon", "water", "a dog"]


def write_model(folder, *, first_token=False, prompts=None):
    """A model whose states are its token embeddings."""
    folder.mkdir()
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["states"])],
        "model",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["n", "t", 4])],
        [numpy_helper.from_array(TABLE, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / "model.onnx")
    make_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": first_token}))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts or {}}))
    return folder


def expected(text, pool):
    pooled = pool(TABLE[make_tokenizer().encode(text).ids])
    return pooled / np.linalg.norm(pooled)


@pytest.mark.parametrize(("first_token", "pool"), [(False, lambda rows: rows.mean(0)), (True, lambda rows: rows[0])])
def test_states_are_pooled_as_the_folder_says_and_the_texts_keep_their_order(tmp_path, first_token, pool):
    folder = write_model(tmp_path / "model", first_token=first_token)
    found = OnnxBiencoder(folder, tmp_path).embed("document", TEXTS)
    np.testing.assert_allclose(found, [expected(text, pool) for text in TEXTS], atol=1e-6)


def test_a_role_has_its_prompt(tmp_path):
    folder = write_model(tmp_path / "model", prompts={"query": "the moon "})
    model = OnnxBiencoder(folder, tmp_path)
    np.testing.assert_array_equal(model.embed("query", ["cat"]), model.embed("document", ["the moon cat"]))


def test_a_folder_with_weights_is_not_an_export_alone(tmp_path):
    folder = write_model(tmp_path / "model")
    assert is_onnx_alone(folder)
    (folder / "model.safetensors").touch()
    assert not is_onnx_alone(folder)
