import random

from indexer.sample import sample_context

CHUNKS = [(f"long-{n}", "long") for n in range(2000)] + [(f"short-{n}", f"short-{n}") for n in range(200)]


def test_one_long_file_does_not_dominate():
    chosen = sample_context(CHUNKS, 100, seed=0)
    assert len(chosen) == 100 and sum(chunk.startswith("long") for chunk in chosen) < 40


def test_the_draw_depends_on_seed_and_chunks_alone():
    shuffled = random.Random(1).sample(CHUNKS, len(CHUNKS))
    assert sample_context(CHUNKS, 100, 0) == sample_context(shuffled, 100, 0) != sample_context(CHUNKS, 100, 1)


def test_fewer_chunks_than_asked_for():
    assert sample_context(CHUNKS[:3], 100, 0) == ["long-0", "long-1", "long-2"]
