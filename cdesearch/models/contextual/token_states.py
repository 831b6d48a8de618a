"""The states of the rarest tokens of a text at the input of each layer, which the second stage can read as context."""

import torch
from torch import Tensor
from torch.nn import functional

from cdesearch.models.backbones.bert import Backbone, additive_mask


def rarest_tokens(input_ids: Tensor, attention_mask: Tensor, frequencies: Tensor, count: int) -> Tensor:
    """(B, count) positions of the tokens of each text (B, T) that occur in the fewest documents.

    `frequencies` (V,) are document frequencies. Of equally rare tokens, that with the highest id comes first, because
    the vocabularies of BERT are ordered by frequency. A token that occurs several times is chosen once, at its first
    position. If a text has fewer different tokens than `count`, some positions are repeated.
    """
    vocabulary = len(frequencies)
    is_repeated = (input_ids[:, :, None] == input_ids[:, None, :]).tril(-1).any(-1)
    beyond = frequencies.max().long() + 1
    rarity = frequencies.long()[input_ids] + beyond * is_repeated
    order = rarity.masked_fill(attention_mask == 0, 2 * beyond) * vocabulary - input_ids
    positions = order.argsort(dim=1, stable=True)[:, :count]
    positions = functional.pad(positions, (0, count - positions.shape[1]))
    # If a text has fewer tokens than `count`, its first token replaces the padding.
    return positions * attention_mask.gather(1, positions)


def token_states(backbone: Backbone, first: int, input_ids: Tensor, attention_mask: Tensor, at: Tensor) -> Tensor:
    """(B, L, r, d) states of the tokens `at` positions (B, r) as they enter the layers from `first` on.

    Each text is encoded alone. The last layer is not computed, because nothing reads its output.
    """
    rows = backbone.embed(input_ids)
    mask = additive_mask(attention_mask, rows.dtype)
    index = at[..., None].expand(-1, -1, rows.shape[-1])
    found = []
    for number, block in enumerate(backbone.blocks):
        if number >= first:
            found.append(rows.gather(1, index).float())
        if number < len(backbone.blocks) - 1:
            rows = block(rows, mask)
    return torch.stack(found, dim=1)
