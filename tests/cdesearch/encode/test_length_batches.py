from hypothesis import given
from hypothesis import strategies as st

from cdesearch.encode.length_batches import BatchLimits, make_batches, split_spans

texts = st.lists(st.integers(0, 40).map(lambda n: [101, *range(1000, 1000 + n), 102]), max_size=12)


@given(st.integers(0, 200), st.integers(1, 3), st.integers(6, 40))
def test_spans_cover_a_text_in_as_few_pieces_of_equal_length_as_possible(n, n_opening, limit):
    ids = [*range(n_opening), *range(1000, 1000 + n), 102]
    spans = split_spans(ids, n_opening, limit)
    room = limit - n_opening - 1
    assert len(spans) == max(1, -(-n // room))
    assert len({len(span) for span in spans}) == 1 and len(spans[0]) <= limit
    assert all(list(span[:n_opening]) == ids[:n_opening] and span[-1] == 102 for span in spans)
    inside = [token for span in spans for token in span[n_opening:-1]]
    assert sorted(set(inside)) == ids[n_opening:-1]
    assert len(inside) - n < len(spans)


@given(texts, st.sampled_from([None, 8, 16]), st.integers(1, 200), st.booleans(), st.integers(0, 5))
def test_every_text_is_in_one_batch_within_the_limits(texts, span_tokens, tokens_per_batch, pads, prefix_rows):
    limits = BatchLimits(30, span_tokens, tokens_per_batch, pads, prefix_rows)
    batches = make_batches(texts, 1, limits)
    assert sorted(place for batch in batches for place in batch.indices) == list(range(len(texts)))
    for batch in batches:
        n_texts, n_spans, n_tokens = batch.ids.shape
        assert n_texts == 1 or n_texts * n_spans * (prefix_rows + n_tokens) <= tokens_per_batch
        assert pads or batch.mask.all()
        for row, place in enumerate(batch.indices):
            kept = set(batch.ids[row][batch.mask[row] == 1].tolist())
            cut = texts[place] if len(texts[place]) <= 30 else [*texts[place][:29], 102]
            assert kept == set(cut)
