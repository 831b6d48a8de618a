import math
from collections import Counter
from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from cdesearch.context.sample import choose_chunks

CHUNKS = [(f"long-{n}", "long", f"content {n}") for n in range(2000)]
CHUNKS += [(f"short-{n}", f"short-{n}", f"other {n}") for n in range(200)]

corpora = st.lists(st.tuples(st.sampled_from("pqrst"), st.integers(0, 12)), max_size=40).map(
    lambda drawn: [(f"chunk-{n}", document, f"content {content}") for n, (document, content) in enumerate(drawn)]
)


def sampled_by_the_definition(chunks, size, seed):
    """Efraimidis and Spirakis: the largest u ** (1 / weight), where n chunks of a document weigh sqrt(n) together."""
    lengths = Counter(document for _, document, _ in chunks)

    def priority(chunk):
        _, document, content = chunk
        drawn = int.from_bytes(blake2b(f"{seed} {content}".encode(), digest_size=8).digest(), "big")
        return math.log((drawn + 1) / 2**64) * math.sqrt(lengths[document])

    chosen, texts = [], set()
    for chunk in sorted(chunks, key=lambda chunk: (-priority(chunk), chunk[0])):
        if chunk[2] not in texts and len(chosen) < size:
            chosen.append(chunk[0])
            texts.add(chunk[2])
    return sorted(chosen)


@given(corpora, st.integers(0, 15), st.integers(0, 5))
def test_the_sample_follows_the_definition(chunks, size, seed):
    assert choose_chunks(iter(chunks), size, seed) == sampled_by_the_definition(chunks, size, seed)


def test_a_document_is_drawn_from_in_proportion_to_the_square_root_of_its_chunks():
    lengths = {"one": 1, "four": 4, "sixteen": 16, "sixty-four": 64}
    chunks = [(f"{name}/{n}", name, f"{name} {n}") for name, length in lengths.items() for n in range(length)]
    draws = 3000
    first = Counter(choose_chunks(chunks, 1, seed)[0].split("/")[0] for seed in range(draws))
    whole = sum(map(math.sqrt, lengths.values()))
    for name, length in lengths.items():
        share = math.sqrt(length) / whole
        assert abs(first[name] - draws * share) < 4 * math.sqrt(draws * share * (1 - share))


def test_a_corpus_that_changes_a_little_keeps_most_of_its_sample():
    before, after = (set(choose_chunks(chunks, 100, 0)) for chunks in (CHUNKS, CHUNKS[20:]))
    assert len(before & after) > 90
