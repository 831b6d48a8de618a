"""Sentences and queries of many domains, so that words are about as rare in drawn texts as in a large corpus."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from trainer.data.pairs.reading import Pair, domain_files, read_pairs

DOCUMENTS = 2_000  # of a domain, so that none outweighs the others
SENTENCES = "sentences.json"  # the file from which another process draws texts
SHORTEST, LONGEST = 20, 300  # characters of a sentence; longer ones are tables and code


def sentences_in(texts: Sequence[str]) -> list[str]:
    """The sentences of some texts, without very short ones."""
    return [part for text in texts for part in text.split(". ") if len(part) > SHORTEST]


class PairTexts:
    """The first pairs of each domain in a folder of pair files; raises SourceError, and InputError if it has none."""

    def __init__(self, folder: Path) -> None:
        self._domains = [list(islice(_with_texts(file), DOCUMENTS)) for file in domain_files([folder])]

    def sentences(self) -> list[str]:
        """The sentences of all documents, each document once."""
        texts = dict.fromkeys(pair.document for pairs in self._domains for pair in pairs)
        return [sentence for sentence in sentences_in(list(texts)) if len(sentence) <= LONGEST]

    def queries(self, count: int, seed: int = 0) -> list[str]:
        """About `count` queries: equally many of each domain, in random order, so that a warm-up sees several."""
        each = max(1, count // len(self._domains))
        random = np.random.default_rng(seed)
        chosen = [pairs[number].query for pairs in self._domains for number in random.permutation(len(pairs))[:each]]
        return [chosen[number] for number in random.permutation(len(chosen))]


def _with_texts(file: Path) -> Iterator[Pair]:
    return (pair for pair in read_pairs(file) if pair.query and pair.document)
