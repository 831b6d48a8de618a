"""The protocol of search systems."""

from typing import Protocol

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.ranking import Run

DEPTH = 100  # documents per query


class System(Protocol):
    """A search system that ranks the documents of a data set."""

    name: str

    def retrieve(self, dataset: Dataset) -> Run:
        """The DEPTH best documents of every query, without a document that has the query's id."""
