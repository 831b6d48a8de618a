import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainer.data.pairs.store import PairWriter, open_pairs

texts = st.text(max_size=5)
rows = st.fixed_dictionaries(
    {
        "query": texts,
        "document": texts,
        "document_id": texts,
        "place": st.integers(0, 999),
        "negatives": st.lists(texts, max_size=3),
        "scores": st.lists(st.floats(allow_nan=False), max_size=3),
    }
)


@given(rows=st.lists(rows, max_size=6), random=st.randoms())
def test_stored_pairs_are_read_in_any_order(tmp_path_factory, rows, random):
    folder = tmp_path_factory.mktemp("pairs")
    with PairWriter(folder) as writer:
        for row in rows:
            writer.write(row)
    table = open_pairs(folder)
    assert len(table) == len(rows)
    order = random.choices(range(len(rows)), k=4) if rows else []
    every_second = table.take(order).take(np.arange(0, len(order), 2))
    for chosen, found in ((range(len(rows)), table), (order, table.take(order)), (order[::2], every_second)):
        for name in ("query", "document", "document_id", "negatives"):
            assert found.column(name) == [rows[row][name] for row in chosen]
        assert list(map(int, found.column("place"))) == [rows[row]["place"] for row in chosen]
        numbers = [[float(score) for score in scores] for scores in found.column("scores")]
        assert numbers == [rows[row]["scores"] for row in chosen]


def test_a_lone_surrogate_becomes_a_question_mark(tmp_path):
    with PairWriter(tmp_path) as writer:
        empty = {"document": "", "document_id": "", "place": 0, "negatives": (), "scores": ()}
        writer.write({"query": "a\ud800b"} | empty)
    assert open_pairs(tmp_path).column("query") == ["a?b"]
