from hypothesis import given
from hypothesis import strategies as st

from trainer.data.store import random_stream

purposes = st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "a 1"]), st.lists(st.integers(0, 12), max_size=3))


@given(st.lists(purposes, min_size=2, max_size=8, unique_by=repr))
def test_every_purpose_has_its_own_reproducible_stream(given_purposes):
    drawn = [random_stream(seed, name, *numbers).random(4).tolist() for seed, name, numbers in given_purposes]
    again = [random_stream(seed, name, *numbers).random(4).tolist() for seed, name, numbers in given_purposes]
    assert drawn == again and len(set(map(tuple, drawn))) == len(drawn)
