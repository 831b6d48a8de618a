"""The systems that are compared on a folder; each finds passages for all questions."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from benchmarks.datasets.dataset import Dataset
from benchmarks.folders.questions import DEPTH, Passage
from benchmarks.systems.biencoder import Biencoder, installed_minilm
from benchmarks.systems.fused import Fused
from cdesearch.search.options import Mode
from cdesearch.search.searcher import Searcher
from cdesearch.store.schema import Chunk
from indexer.formats.records import PART

MODES: tuple[Mode, ...] = ("hybrid", "rerank", "dense", "text")
OURS = "cdesearch, hybrid"

Finder = Callable[[Sequence[str]], list[list[Passage]]]  # from questions to passages, best first


def by_product(searcher: Searcher, name: str = "cdesearch") -> Mapping[str, Finder]:
    """All modes of an index."""
    return {f"{name}, {mode}": partial(_by_product, searcher, mode) for mode in MODES}


def finders(searcher: Searcher, chunks: Sequence[Chunk], work: Path) -> Mapping[str, Finder]:
    """All systems by name; OURS is the first. Vectors are stored in `work`."""
    passages = [Passage(chunk.path, chunk.text) for chunk in chunks]
    minilm = Fused(Biencoder(installed_minilm(), work, "all-MiniLM-L6-v2"), "z-score")
    return {
        **by_product(searcher),
        minilm.name: partial(_by_vectors_and_words, minilm, passages),
        "AND of words": partial(with_all_words, passages),
    }


def with_all_words(passages: Sequence[Passage], questions: Sequence[str]) -> list[list[Passage]]:
    """As with ripgrep: the files that contain every word, each with the passage that contains most of them.

    The file whose passage contains most words is first. Stop words do not count, unless there are no others.
    """
    import bm25s.stopwords

    files = [
        [(passage, passage.text.lower()) for passage in some]
        for _, some in groupby(passages, lambda passage: passage.path)
    ]

    def found(question: str) -> list[Passage]:
        every = set(re.findall(r"\w+", question.lower()))
        words = every - set(bm25s.stopwords.STOPWORDS_EN_PLUS) or every
        best = []
        for file in files:
            if all(any(word in text for _, text in file) for word in words):
                counts = [sum(word in text for word in words) for _, text in file]
                best.append((max(counts), file[counts.index(max(counts))][0]))
        return [passage for _, passage in sorted(best, key=lambda match: -match[0])][:DEPTH]

    return [found(question) for question in questions]


def _by_product(searcher: Searcher, mode: Mode, questions: Sequence[str]) -> list[list[Passage]]:
    return [
        [Passage(hit.chunk.path, hit.chunk.text) for hit in searcher.search(question, DEPTH, mode)]
        for question in questions
    ]


def _by_vectors_and_words(system: Fused, passages: Sequence[Passage], questions: Sequence[str]) -> list[list[Passage]]:
    """Rank passages without an index: all cosines are exact, and BM25 is that of bm25s."""
    by_id = {f"{passage.path}{PART}{row}": passage for row, passage in enumerate(passages)}
    texts = tuple(passage.text for passage in passages)
    asked = {question: question for question in questions}
    run = system.retrieve(Dataset("folder", Path(), tuple(by_id), texts, asked, {name: {} for name in asked}, ()))
    return [[by_id[name] for name in run[question][:DEPTH]] for question in questions]
