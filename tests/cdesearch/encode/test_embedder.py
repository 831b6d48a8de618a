import numpy as np
import pytest

from cdesearch.encode.embedder import Embedder
from cdesearch.errors import InputError

TEXTS = ["the cat", "the dog and the moon", "water in the river", "bread"]


def test_vectors_are_those_of_the_encoder_in_the_same_context(tiny_checkpoint, tiny_encoder):
    embedder = Embedder(tiny_checkpoint)
    context = embedder.sample_context(TEXTS, size=3)
    assert len(context.sampled.chunk_ids) == 3
    found = embedder.encode(TEXTS, dataset_embeddings=context)
    np.testing.assert_allclose(found, tiny_encoder.encode(TEXTS, "document", context), atol=1e-6)
    one = embedder.encode("the cat", prompt_name="query", dataset_embeddings=context)
    assert one.shape == (embedder.get_sentence_embedding_dimension(),)
    assert embedder.similarity(one, found).shape == (1, 4)
    assert not np.allclose(embedder.encode("the cat"), one), "without context it is another vector"


def test_invalid_input_is_reported(tiny_checkpoint):
    embedder = Embedder(tiny_checkpoint)
    with pytest.raises(InputError, match="no prompt passage"):
        embedder.encode("the cat", prompt_name="passage")
    with pytest.raises(InputError, match="needs texts"):
        embedder.sample_context([])
    with pytest.raises(InputError, match="not a list of str"):
        embedder.sample_context("the cat")
    for sentences in (None, ["the cat", None], 3):
        with pytest.raises(InputError, match="not a list of str"):
            embedder.encode(sentences)
    with pytest.raises(InputError, match="Give what sample_context returns"):
        embedder.encode("the cat", dataset_embeddings=np.ones((3, 16)))
