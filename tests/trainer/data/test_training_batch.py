import numpy as np

from trainer.data.pairs.reading import Pair
from trainer.data.training_batch import choose_context, siblings_of


def test_siblings_are_chunks_of_one_document():
    pairs = [Pair("q", "a", ("n",), "book"), Pair("q", "b"), Pair("q", "c", ("m",), "book"), Pair("q", "d")]
    book, alone, same, *rest = siblings_of(pairs).tolist()
    assert book == same and len({book, alone, *rest}) == 5 and len(rest) == 3


def test_the_context_is_shared_and_sometimes_absent():
    random = np.random.default_rng(0)
    indices, is_null = choose_context(100, 32, slot_dropout=0.0, null_share=0.0, random=random)
    assert len(set(indices.tolist())) == 32 and not is_null.any()
    assert choose_context(3, 32, 0.0, 0.0, random)[0].tolist() == [0, 1, 2]
    assert choose_context(100, 32, 0.0, 1.0, random)[1].all()
