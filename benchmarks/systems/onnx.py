"""An embedding model of another project, exported to ONNX."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.systems.biencoder import Biencoder
from cdesearch.context.vectors import Floats
from cdesearch.encode.backends.onnx_import import import_onnxruntime
from cdesearch.encode.load import load_tokenizer
from cdesearch.encode.model_tokens import Role

BATCH = 32
MAX_TOKENS = 512  # if the folder has no limit


class OnnxBiencoder(Biencoder):
    """A folder in the layout of sentence-transformers with `model.onnx` in it or in `onnx/`.

    The graph returns vectors (n, d) as `sentence_embedding`, or states (n, t, d) as its first output, which are pooled
    as `1_Pooling/config.json` says, or by their mean if that file is missing.
    """

    runtime = "ONNX"

    def embed(self, role: Role, texts: Sequence[str]) -> Floats:
        """(n, d) unit vectors of texts in one role."""
        session = import_onnxruntime().InferenceSession(_graph(self._folder), providers=["CPUExecutionProvider"])
        tokenizer = load_tokenizer(self._folder / "tokenizer.json")
        tokenizer.enable_truncation(self._settings("sentence_bert_config.json").get("max_seq_length", MAX_TOKENS))
        tokenizer.enable_padding()
        first_token = self._settings("1_Pooling/config.json").get("pooling_mode_cls_token", False)
        prompt = self._settings("config_sentence_transformers.json").get("prompts", {}).get(role, "")
        by_length = np.argsort(
            [len(text) for text in texts], kind="stable"
        )  # texts of similar length together: padding costs time
        batches = np.array_split(by_length, -(-len(texts) // BATCH))
        rows = []
        for indices in batches:
            encoded = tokenizer.encode_batch([prompt + texts[index] for index in indices])
            ids, mask = (np.array([getattr(e, name) for e in encoded], np.int64) for name in ("ids", "attention_mask"))
            rows.append(_pooled(session, ids, mask, first_token))
        found = np.concatenate(rows)[np.argsort(np.concatenate(batches))]
        unit: Floats = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
        return unit

    def _settings(self, name: str) -> dict[str, Any]:
        file = self._folder / name
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def is_onnx_alone(folder: Path) -> bool:
    """Whether a model folder has an ONNX export and no weights."""
    has_weights = any((folder / name).exists() for name in ("model.safetensors", "pytorch_model.bin"))
    return _graph(folder) is not None and not has_weights


def _graph(folder: Path) -> Path | None:
    return next((file for file in (folder / "model.onnx", folder / "onnx" / "model.onnx") if file.exists()), None)


def _pooled(session: Any, ids: NDArray[np.int64], mask: NDArray[np.int64], first_token: bool) -> Floats:
    """(B, d) pooled vectors of ids (B, T)."""
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    wanted = {value.name for value in session.get_inputs()}
    outputs = [value.name for value in session.get_outputs()]
    name = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
    found: Floats = session.run([name], {key: value for key, value in given.items() if key in wanted})[0]
    if found.ndim == 2:
        return found
    if first_token:
        return found[:, 0]
    weights = mask[:, :, None].astype(np.float32)
    pooled: Floats = (found * weights).sum(1) / weights.sum(1)
    return pooled
