from dataclasses import replace

import numpy as np
import torch
from conftest import TINY, make_model

from trainer.data.surrogate import open_surrogate, surrogate_vectors
from trainer.export import export

TEXTS = ["the cat", "a dog in the water", "moon"]


def test_exports_of_one_model_in_two_precisions_have_stored_vectors_of_their_own(tmp_path, tiny_tokenizer):
    tiny_tokenizer.save(str(tmp_path / "tokenizer.json"))
    model = make_model(replace(TINY, first_stage="shared"), gate=0.0)
    exact, quantised = tmp_path / "fp32", tmp_path / "int8"
    for folder in (exact, quantised):
        export(model, tmp_path / "tokenizer.json", folder, folder.name)
    for folder in (exact, quantised):
        encoder = open_surrogate(folder, torch.device("cpu"))
        found = surrogate_vectors("pairs", TEXTS, "document", encoder, tmp_path / "work", lambda _: None)
        np.testing.assert_array_equal(found, encoder.encode(TEXTS, "document", None))
