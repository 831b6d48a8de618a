"""The hits of an index of real texts, by the kind of its vectors and with the model that ships."""

from pathlib import Path

import numpy as np
import pytest

import cdesearch
from cdesearch.store.vector_format import KINDS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
QUERIES = [
    "what happens if the process is killed",
    "which files are not read",
    "how are chunks chosen for the context",
    "can a forged index run code",
    "how do I search from Python",
    "vectors of a document after an edit",
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """An open index of the same files for each kind."""
    folder = tmp_path_factory.mktemp("kinds")
    files = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]
    indexes = {kind: cdesearch.build(*files, index=folder / kind, vectors=kind) for kind in KINDS}
    yield indexes
    for index in indexes.values():
        index.close()


def found(index, k=10, **options):
    return [{hit.chunk.id: hit.score for hit in index.search(query, k, **options)} for query in QUERIES]


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_float16_has_the_hits_and_the_scores_of_float32(opened, mode):
    for exact, rounded in zip(found(opened["float32"], mode=mode), found(opened["float16"], mode=mode), strict=True):
        for chunk in exact.keys() & rounded.keys():
            assert rounded[chunk] == pytest.approx(exact[chunk], rel=1e-3, abs=1e-3)
        for chunk in exact.keys() ^ rounded.keys():  # a tie at the last rank
            assert (exact | rounded)[chunk] == pytest.approx(min(exact.values()), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(("kind", "least"), [("int8", 0.95), ("binary", 0.6)])
@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_most_of_the_ten_best_hits_stay(opened, kind, least, mode):
    pairs = zip(found(opened["float32"], mode=mode), found(opened[kind], mode=mode), strict=True)
    assert np.mean([len(exact.keys() & rounded.keys()) / 10 for exact, rounded in pairs]) >= least
