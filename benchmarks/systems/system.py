"""What every system can do."""

from typing import Protocol

from benchmarks.datasets.dataset import Dataset
from benchmarks.quality.measures import Run

DEPTH = 100  # documents a query


class System(Protocol):
    """A way to search."""

    name: str

    def retrieve(self, dataset: Dataset) -> Run:
        """The DEPTH best documents of every query, without the one that has the query's own id."""
