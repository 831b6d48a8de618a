"""Merging the rows of a large context: a few rows stand for many, so that reading them costs little."""

import torch
from torch import Tensor

MERGED_ROWS = 256  # of a context, in each layer
ITERATIONS = 8
SEED = 0


@torch.no_grad()
def merge_rows(keys: Tensor, values: Tensor, n_heads: int, n_rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Keys and values (L, n_rows, d) that stand for those of R rows (L, R, d), and the logarithms of their counts.

    In each head of each layer, similar rows are merged by k-means over key and value together, and have the mean key
    and value. The logarithms (L, n_heads, 1, n_rows) are to be added to the scores, so that a merged row weighs as much
    as the rows that it stands for. Equal rows are merged without any change of the result, if no others have to be.
    """
    merged = [
        _merge(torch.cat([x.unflatten(-1, (n_heads, -1)).transpose(0, 1) for x in layer], dim=-1), n_rows)
        for layer in zip(keys, values, strict=True)
    ]
    # A head's share of the row i is its own centre i: the heads group the rows differently.
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
    """(H, k, p) points far from each other, drawn as k-means++ does: never one twice while there are others."""
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
