"""The protocol of the systems."""

from typing import Protocol

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.ranking import Run

DEPTH = 100  # documents a query


class System(Protocol):
    """A search system."""

    name: str

    def retrieve(self, dataset: Dataset) -> Run:
        """The DEPTH best documents of every query, without the document that has the id of the query."""
