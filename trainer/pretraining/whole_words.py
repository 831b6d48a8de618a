"""Which tokens of a text are masked, and what the network reads in their place.

Whole words are chosen, so that no token can be guessed from the rest of its word (BERT's whole-word masking). A chosen
token is replaced by the mask in 8 of 10 cases and by a random token in 1, and is kept in 1 (Devlin et al., 2019).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.pretraining.vocabulary import Vocabulary

MASKED, RANDOM = 0.8, 0.1  # shares of the chosen tokens


def choose_words(
    ids: NDArray[Any], vocabulary: Vocabulary, share: float, random: np.random.Generator
) -> NDArray[np.bool_]:
    """(T,) which tokens of a framed text (T,) are chosen: whole words of at most `share` of its tokens, at least one.

    Words are added in random order until the next one would exceed the share. The first token of a text begins a word,
    even if it continues one in the whole document.
    """
    first, end = len(vocabulary.opening), len(ids) - len(vocabulary.closing)
    chosen = np.zeros(len(ids), bool)
    if end <= first:
        return chosen
    begins = ~vocabulary.continues[ids[first:end]]
    begins[0] = True
    word = np.cumsum(begins) - 1
    order = random.permutation(word[-1] + 1)
    budget = max(1, round(share * len(word)))
    taken = order[np.cumsum(np.bincount(word)[order]) <= budget]
    chosen[first:end] = np.isin(word, taken if len(taken) else order[:1])
    return chosen


def corrupt(
    ids: NDArray[np.int64], chosen: NDArray[np.bool_], vocabulary: Vocabulary, random: np.random.Generator
) -> NDArray[np.int64]:
    """The text (T,) that the network reads instead, in which the chosen tokens are masked, replaced or kept."""
    assert vocabulary.mask is not None
    drawn = random.random(len(ids))
    others = random.choice(vocabulary.ordinary, len(ids))
    read = np.where(chosen & (drawn < MASKED), vocabulary.mask, ids)
    return np.where(chosen & (drawn >= MASKED) & (drawn < MASKED + RANDOM), others, read)
