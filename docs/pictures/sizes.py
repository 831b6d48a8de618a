"""Draw how long each operation takes at three sizes of an index, as an SVG.

python docs/pictures/sizes.py > docs/pictures/sizes.svg

The figures are those of "Every operation at three sizes" in benchmarks/results/LOG.md.
"""

import math
import sys

WIDTH, HEIGHT, LEFT = 400, 300, 44
SIZES = 10_136, 101_186, 1_011_549  # chunks
LONGEST = 1_000  # seconds
SECONDS = {  # its colour, the times, and by how much its name is moved down so that names do not overlap
    "new context": ("#b45309", (4.3, 33.2, 446.8), 0),
    "update of one file": ("#00796b", (1.94, 3.12, 9.01), -4),
    "doctor": ("#7c3aed", (0.89, 1.48, 5.75), 4),
    "hybrid query, in a new process": ("#2f58c6", (0.98, 1.08, 2.44), 0),
    "nothing to do": ("#57606a", (1.02, 1.12, 1.19), -5),
    "status": ("#9f1239", (0.98, 0.98, 1.15), 5),
    "query by words, in a new process": ("#1f2328", (0.78, 0.84, 0.96), 12),
    "hybrid query, warm": ("#0369a1", (0.0301, 0.0407, 0.0747), 0),
}
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 -20 690 370">
<style>text {{font: 13px system-ui, sans-serif; fill: #57606a}}</style>
<rect x="-10" y="-20" width="690" height="370" rx="8" fill="#fff"/>
{}
</svg>
"""


def place(size: float, seconds: float) -> tuple[float, float]:
    """Where a size and a time are, on logarithmic axes from 10,000 chunks and from a hundredth of a second on."""
    x = LEFT + math.log10(size / 1e4) / 2.05 * WIDTH
    return x, HEIGHT - math.log10(seconds / 0.01) / math.log10(LONGEST / 0.01) * HEIGHT


def main() -> None:
    """Print the picture."""
    drawn = []
    for seconds, label in ((0.01, "10 ms"), (0.1, "0.1 s"), (1, "1 s"), (10, "10 s"), (100, "100 s"), (1000, "1000 s")):
        _, y = place(SIZES[0], seconds)
        drawn.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.0f}" y2="{y:.0f}" stroke="#e5e7eb"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{label}</text>')
    for size, label in ((1e4, "10,000"), (1e5, "100,000"), (1e6, "1,000,000 chunks")):
        drawn.append(f'<text x="{place(size, 1)[0]:.0f}" y="{HEIGHT + 22}" text-anchor="middle">{label}</text>')
    for name, (colour, times, down) in SECONDS.items():
        points = [place(*point) for point in zip(SIZES, times, strict=True)]
        line = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        drawn.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="{colour}"/>' for x, y in points]
        x, y = points[-1]
        drawn.append(f'<text x="{x + 10:.0f}" y="{y + 4 + down:.0f}" style="fill: {colour}">{name}</text>')
    sys.stdout.write(FRAME.format("\n".join(drawn)))


if __name__ == "__main__":
    main()
