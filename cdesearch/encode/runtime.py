"""The protocol of runtimes: what a library that computes the networks must be able to do."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.context import EncodingContext
from cdesearch.context.vectors import Floats
from cdesearch.encode.length_batches import Integers


@dataclass(frozen=True, slots=True)
class Unexported:
    """A model that runs on torch on a CPU, and has no ONNX export yet."""

    network: Any  # the torch module
    folder: Path  # where the export belongs


class Runtime(Protocol):
    """The networks on one device.

    Ids and mask are (B, S, T): B texts, each read in S spans of T tokens, and pooled over all of its spans. The shapes
    of a context are those of `NetworkInputs`.
    """

    workers: int  # batches that run at the same time
    tokens_per_batch: int
    pads: bool  # whether a batch may contain texts of different lengths
    reads_context: bool  # whether first-stage vectors change the result: false if every gate is zero
    prefix_rows: int  # how many rows precede each text in a joint second stage

    @property
    def cpu_network(self) -> Any:
        """The torch module, if torch runs it on a CPU, where an export would be faster; else None."""

    @property
    def precision(self) -> str:
        """The number format of the matrix products, `fp32` or `int8`: exports of both have one fingerprint."""

    def first_stage(self, input_ids: Integers, mask: Integers) -> Floats:
        """(B, d) first-stage vectors, not normalised."""

    def cache(self, vectors: Floats, is_null: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
        """Keys and values (L, J, d) of a context; None if the model is joint or every gate is zero."""

    def second_stage(
        self, input_ids: Integers, mask: Integers, context: EncodingContext
    ) -> tuple[Floats, Floats | None]:
        """(B, n) unit vectors, and states (B, S, T, SIGNS) times `projection`, or None if tokens cannot be compared."""

    def second_stage_chunks(self, input_ids: Integers, belongs: Floats, context: EncodingContext) -> Floats:
        """(C, n) unit vectors of chunks that are read in one sequence (T,); `belongs` (C, T) is 1 for their tokens."""
