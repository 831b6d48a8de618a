"""The states of all tokens of a text, for late interaction."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cdesearch.context.context import EncodingContext
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.length_batches import Integers, run_batches
from cdesearch.encode.model_tokens import ModelTokens
from cdesearch.encode.runtime import Runtime


@dataclass(frozen=True, slots=True)
class TokenStates:
    """The states of the n tokens of a text after the second stage, without special tokens."""

    vectors: Floats  # (n, d) of length 1
    weights: Floats  # (n,) of the tokens in the mean, by their idf
    starts: Integers  # (n,) of their first characters in the text; negative in a prefix


def states_of(
    texts: Sequence[str], prefix: str, tokens: ModelTokens, runtime: Runtime, context: EncodingContext
) -> list[TokenStates]:
    """The states of the tokens of each text, in the order of `texts`; raises ModelError if the model has none."""
    texts = [prefix + text for text in texts]
    ids = tokens.ids(texts)
    batches = tokens.batches(ids, prefix, runtime, runtime.prefix_rows)
    positions = tokens.batches([range(len(some)) for some in ids], prefix, runtime, runtime.prefix_rows)
    offsets = [encoding.offsets for encoding in tokens.tokenizer.encode_batch(texts)]
    special = sorted(tokens.tokenizer.get_added_tokens_decoder())
    computed = run_batches(batches, lambda ids, mask: runtime.token_states(ids, mask, context), runtime.workers)
    found: dict[int, TokenStates] = {}
    for batch, at, (_, states) in zip(batches, positions, computed, strict=True):
        is_word = batch.mask.astype(bool) & ~np.isin(batch.ids, special)
        for row, index in enumerate(batch.indices.tolist()):
            kept = is_word[row]
            starts = np.array([offsets[index][n][0] for n in at.ids[row][kept]], np.int64) - len(prefix)
            weights = context.inputs.token_weights[batch.ids[row][kept]]
            found[index] = TokenStates(to_unit(states[row][kept]), weights, starts)
    return [found[index] for index in range(len(texts))]
