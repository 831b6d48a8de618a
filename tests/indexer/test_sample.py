import random

from indexer.sample import sample_context

CHUNKS = [(f"long-{n}", "long", f"content {n}") for n in range(2000)]
CHUNKS += [(f"short-{n}", f"short-{n}", f"other {n}") for n in range(200)]


def test_one_long_file_does_not_dominate():
    chosen = sample_context(CHUNKS, 100, seed=0)
    assert len(chosen) == 100 and sum(chunk.startswith("long") for chunk in chosen) < 40


def test_the_draw_depends_on_seed_and_chunks_alone():
    shuffled = random.Random(1).sample(CHUNKS, len(CHUNKS))
    assert sample_context(CHUNKS, 100, 0) == sample_context(shuffled, 100, 0) != sample_context(CHUNKS, 100, 1)


def test_fewer_chunks_than_asked_for():
    assert sample_context(CHUNKS[:3], 100, 0) == ["long-0", "long-1", "long-2"]


def test_a_text_that_stands_everywhere_counts_once():
    headers = [(f"header-{n}", f"file-{n}", "the licence") for n in range(500)]
    chosen = sample_context(CHUNKS + headers, 1000, 0)
    assert sum(chunk.startswith("header") for chunk in chosen) <= 1
    assert len(sample_context(headers, 100, 0)) == 1


def test_a_corpus_that_changes_a_little_keeps_most_of_its_sample():
    before, after = (set(sample_context(chunks, 100, 0)) for chunks in (CHUNKS, CHUNKS[20:]))
    assert len(before & after) > 90
