"""Merge similar rows of a large context, so that attending to it takes less time."""

import torch
from torch import Tensor

MERGED_ROWS = 256  # of a context, in each layer
ITERATIONS = 8
SEED = 0


@torch.no_grad()
def merge_rows(keys: Tensor, values: Tensor, n_heads: int, n_rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Keys and values (L, n_rows, d) that replace those of R rows (L, R, d), and the logarithms of their counts.

    In each head of each layer, k-means over key and value together merges similar rows. A merged row has their mean key
    and value. The logarithms (L, n_heads, 1, n_rows) of the numbers of rows are to be added to the scores, so that a
    merged row has the weight of the rows that it replaces. Merging only equal rows does not change the result.
    """
    merged = [
        _merge(torch.cat([x.unflatten(-1, (n_heads, -1)).transpose(0, 1) for x in layer], dim=-1), n_rows)
        for layer in zip(keys, values, strict=True)
    ]
    # Each head groups the rows in its own way. Row i of the result joins the centres i of all heads.
    both = torch.stack([centres.transpose(0, 1) for centres, _ in merged])
    key, value = both.chunk(2, dim=-1)
    return key.flatten(2), value.flatten(2), torch.stack([counts.log()[:, None] for _, counts in merged])


def _merge(points: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Means (H, k, p) and sizes (H, k) of the clusters of points (H, R, p); some may be empty, with size 0."""
    centres = _spread(points, k)
    for _ in range(ITERATIONS):
        nearest = (centres.square().sum(-1)[:, None] - 2 * points @ centres.mT).argmin(-1)
        counts = torch.zeros_like(centres[..., 0]).scatter_add_(1, nearest, torch.ones_like(points[..., 0]))
        sums = torch.zeros_like(centres).scatter_add_(1, nearest[..., None].expand_as(points), points)
        centres = torch.where(counts[..., None] > 0, sums / counts[..., None].clamp_min(1), centres)
    return centres, counts


def _spread(points: Tensor, k: int) -> Tensor:
    """(H, k, p) points far from each other, drawn as in k-means++. No point is repeated while others are left."""
    generator = torch.Generator(points.device).manual_seed(SEED)
    heads = torch.arange(len(points), device=points.device)
    chosen = torch.randint(points.shape[1], (len(points),), generator=generator, device=points.device)
    found = [points[heads, chosen]]
    distances = (points - found[0][:, None]).square().sum(-1)
    for _ in range(k - 1):
        any_left = distances.amax(-1, keepdim=True) > 0
        chosen = torch.multinomial(torch.where(any_left, distances, 1.0), 1, generator=generator)[:, 0]
        found.append(points[heads, chosen])
        distances = torch.minimum(distances, (points - found[-1][:, None]).square().sum(-1))
    return torch.stack(found, dim=1)
