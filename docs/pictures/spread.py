"""Draw how similar the passages of a folder seem before and after the corpus is taken into account, as an SVG.

python docs/pictures/spread.py docs > docs/pictures/spread.svg
"""

import sys
import tempfile

import numpy as np

import cdesearch

WIDTH, HEIGHT, BINS = 640, 220, np.linspace(-0.5, 1, 61)
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="-20 -10 680 280">
<style>text {{font: 14px system-ui, sans-serif; fill: #57606a}} text[font-weight] {{fill: #1f2328}}</style>
<rect x="-20" y="-10" width="680" height="280" rx="8" fill="#fff"/>
{}
</svg>
"""


def cosines(vectors: np.ndarray) -> np.ndarray:
    """The cosine of every pair of rows."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return (unit @ unit.T)[np.triu_indices(len(unit), 1)]


def drawing(values: np.ndarray, tallest: float, colour: str, name: str, place: tuple[int, int]) -> str:
    """A histogram of the values with its label, which begins at a distance from the mean, at a height."""
    share = np.histogram(values, BINS)[0] / len(values)
    tops = [
        f"{x_of(left + 0.0125):.1f},{HEIGHT * (1 - part / tallest):.1f}"
        for left, part in zip(BINS[:-1], share, strict=True)
    ]
    line = f"M0,{HEIGHT} L{' '.join(tops)} L{WIDTH},{HEIGHT}Z"
    shape = f'<path d="{line}" fill="{colour}" fill-opacity=".4" stroke="{colour}"/>'
    label = f'<text x="{x_of(values.mean()) + place[0]:.0f}" y="{place[1]}" fill="{colour}" font-weight="bold">{name}'
    return f"{shape}\n{label}, mean {values.mean():.2f}</text>"


def x_of(cosine: float) -> float:
    """Where a cosine is on the horizontal axis."""
    return float((cosine - BINS[0]) / (BINS[-1] - BINS[0]) * WIDTH)


def main() -> None:
    """Index the folder, compare the vectors before the second stage with those after it, and print the picture."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as place, cdesearch.build(sys.argv[1], index=f"{place}/index") as opened:
        tables = [opened.index.first_stage, opened.index.chunks]
        vectors = [np.stack(table.to_arrow()["vector"].to_numpy(zero_copy_only=False)) for table in tables]
    before, after = (cosines(one.astype(np.float32)) for one in vectors)
    tallest = 1.05 * max(np.histogram(values, BINS)[0].max() / len(values) for values in (before, after))
    ticks = [f'<text x="{x_of(x):.0f}" y="{HEIGHT + 20}" text-anchor="middle">{x:g}</text>' for x in (-0.5, 0, 0.5, 1)]
    drawn = [
        drawing(before, tallest, "#b45309", "before", (70, 120)),
        drawing(after, tallest, "#00796b", "after", (10, 24)),
        f'<line x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}" stroke="#57606a"/>{"".join(ticks)}',
        f'<text x="{WIDTH / 2}" y="{HEIGHT + 42}" text-anchor="middle">similarity of two passages (cosine)</text>',
    ]
    sys.stdout.write(FRAME.format("\n".join(drawn)))


if __name__ == "__main__":
    main()
