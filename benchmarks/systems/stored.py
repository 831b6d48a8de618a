"""The vectors of another system as an index could store them: rounded to int8 or to signs, or with fewer dimensions.

int8              one scale for each vector, as in an index
tanh              floor(127 tanh(scale x) + 1/2) of unit vectors, on both sides, as `objective.quantise` trains it
binary            signs on both sides
binary documents  signs of documents, and whole vectors of queries, as in an index
first N           the first N components
axes N            the first N principal axes of the documents, much as `cdesearch index --dimension N` keeps them
"""

import re
from typing import Protocol

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.ranking import Run
from benchmarks.systems.vectors import nearest
from cdesearch.context.rounding import from_codes, to_codes
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.context.whitening import principal_axes
from cdesearch.errors import InputError

FORMS = ("int8", "tanh", "binary", "binary documents", "first N", "axes N")
_NARROWER = re.compile(r"(first|axes) ([1-9]\d*)")


class Embedding(Protocol):
    """A system that has unit vectors of queries (Q, d) and documents (D, d)."""

    name: str

    def vectors(self, dataset: Dataset) -> tuple[Floats, Floats]:
        """The vectors of a data set."""


class Stored:
    """Ranks by the cosines of vectors in one form."""

    def __init__(self, system: Embedding, form: str, scale: float) -> None:
        """`scale` multiplies unit vectors before tanh. Raises InputError for an unknown form."""
        check_form(form)
        self.name = f"{system.name}, {form}"
        self._system = system
        self._form = form
        self._scale = scale

    def retrieve(self, dataset: Dataset) -> Run:
        """Rank the documents by cosine."""
        queries, documents = self._system.vectors(dataset)
        return nearest(dataset, *(to_unit(side) for side in as_stored(queries, documents, self._form, self._scale)))


def check_form(form: str) -> None:
    """Raise InputError if there is no such form."""
    if form not in FORMS[:4] and not _NARROWER.fullmatch(form):
        raise InputError(f"{form} is not a form of stored vectors.", f"Name some of: {', '.join(FORMS)}.")


def as_stored(queries: Floats, documents: Floats, form: str, scale: float) -> tuple[Floats, Floats]:
    """Unit vectors (Q, d) and (D, d) in a form, as floats that need not have unit length."""
    if form == "int8":
        return queries, from_codes(*to_codes(documents))
    if form == "tanh":
        return _codes_of_tanh(queries, scale), _codes_of_tanh(documents, scale)
    if form == "binary":
        return _signs(queries), _signs(documents)
    if form == "binary documents":
        return queries, _signs(documents)
    kind, _, count = form.partition(" ")
    if kind == "first":
        return queries[:, : int(count)], documents[:, : int(count)]
    axes = principal_axes(documents, int(count)).astype(np.float32)
    return queries @ axes, documents @ axes


def _codes_of_tanh(vectors: Floats, scale: float) -> Floats:
    codes: Floats = np.floor(127 * np.tanh(scale * vectors) + 0.5).astype(np.float32)
    return codes


def _signs(vectors: Floats) -> Floats:
    signs: Floats = np.where(vectors >= 0, 1, -1).astype(np.float32)
    return signs
