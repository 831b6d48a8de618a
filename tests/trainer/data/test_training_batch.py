from trainer.data.pairs.reading import Pair
from trainer.data.training_batch import UNKNOWN, siblings_of, teacher_of_pairs


def test_siblings_are_chunks_of_one_document():
    pairs = [Pair("q", "a", ("n",), "book"), Pair("q", "b"), Pair("q", "c", ("m",), "book"), Pair("q", "d")]
    book, alone, same, *rest = siblings_of(pairs).tolist()
    assert book == same and len({book, alone, *rest}) == 5 and len(rest) == 3


def test_a_teacher_of_pairs_knows_the_documents_that_it_has_scored():
    pairs = [
        Pair("q", "d", ("n", "m"), scores=(3.0, 1.0, 2.0)),
        Pair("r", "e", scores=(5.0,)),
        Pair("s", "f", ("o",), scores=(4.0, -1.0)),
    ]
    u = UNKNOWN
    expected = [[6.0, u, u, 2.0, 4.0, u], [u, 10.0, u, u, u, u], [u, u, 8.0, u, u, -2.0]]
    assert teacher_of_pairs(pairs, 0.5).tolist() == expected
