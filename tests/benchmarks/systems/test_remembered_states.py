import numpy as np
import pytest

from benchmarks.systems.remembered_states import remembering_encoder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import ModelError

TEXTS = ["the cat is in the house", "moon", "the river and the stone " * 40, "bread and light"]


def test_vectors_in_several_contexts_are_those_of_torch(closed_checkpoint):
    plain, remembering = load_encoder(closed_checkpoint, "cpu"), remembering_encoder(closed_checkpoint)
    names = [str(number) for number in range(len(TEXTS))]
    for some in (TEXTS, TEXTS[:2], TEXTS[2:] * 3):
        contexts = [
            encoder.make_context(names[: len(some)], names[: len(some)], some, encoder.count_tokens(some), seed=0)
            for encoder in (plain, remembering)
        ]
        for role in ("document", "query"):
            one, other = (
                encoder.encode(TEXTS, role, context)
                for encoder, context in zip((plain, remembering), contexts, strict=True)
            )
            np.testing.assert_allclose(one, other, atol=5e-3)


def test_a_model_whose_vectors_depend_on_the_sample_is_refused(tiny_checkpoint):
    with pytest.raises(ModelError, match="depend on the sampled chunks"):
        remembering_encoder(tiny_checkpoint)
