"""Whether probabilities are calibrated, and how well a score separates two kinds of questions."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

BINS = 10  # of equal width

Values = NDArray[np.float64]


def area_under_roc(positive: Values, negative: Values) -> float:
    """The probability that a positive value is higher than a negative one; ties count half."""
    ranks = rankdata(np.concatenate([positive, negative]))[: len(positive)].sum()
    n = len(positive)
    return float((ranks - n * (n + 1) / 2) / (n * len(negative)))


def reliability(predicted: Values, true: NDArray[np.bool_], weights: Values) -> Values:
    """(bins, 3) the mean prediction, the share that is true and the share of the weight, for bins that are not empty.

    All arguments are (n,).
    """
    of = np.minimum((predicted * BINS).astype(int), BINS - 1)
    rows = [
        (
            np.average(predicted[of == one], weights=weights[of == one]),
            np.average(true[of == one], weights=weights[of == one]),
            weights[of == one].sum() / weights.sum(),
        )
        for one in np.unique(of)
    ]
    return np.array(rows)


def calibration_error(predicted: Values, true: NDArray[np.bool_], weights: Values) -> float:
    """The expected calibration error: the mean difference of prediction and share, weighted by the bins."""
    mean, share, weight = reliability(predicted, true, weights).T
    return float((weight * np.abs(mean - share)).sum())


def draw_reliability(predicted: Values, true: NDArray[np.bool_], weights: Values, file: Path) -> None:
    """Draw the share of relevant hits over their confidence. The area of a dot is its share of the hits."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mean, share, weight = reliability(predicted, true, weights).T
    figure, axes = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    axes.scatter(mean, share, s=20 + 400 * weight, color="C0", alpha=0.8)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="share of the hits that are relevant")
    figure.savefig(file)
    plt.close(figure)
