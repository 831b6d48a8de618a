"""What the loss compares: objectives of a recipe that are switched on one by one. The losses are in trainer/loss."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cdesearch.errors import InputError
from trainer.schema import between


@dataclass(frozen=True, kw_only=True)
class Objective:
    """The section [objective] of a recipe; by default the loss is InfoNCE from query to document."""

    query_negatives: bool = False  # the other queries of a batch are negatives of a query, too
    # Negatives whose cosine with the query exceeds that of its own document by more than this do not count. The cosines
    # are the model's own. None: all count that `batches.filter` leaves.
    margin: float | None = field(default=None, metadata=between(0, 2))
    symmetric: bool = False  # the mean of the losses from query to document and from document to query
    # Compare vectors as rounded: to int8 (127 times tanh) or to their signs. Gradients are those of tanh. A lower scale
    # would round all numbers of a unit vector to zero, and a higher one would leave no gradient.
    quantise: Literal["none", "int8", "binary"] = "none"
    quantise_scale: float = field(default=4.0, metadata=between(0.5, 100))  # of unit vectors, before tanh
    # The loss is the mean over vectors cut to so many dimensions each; empty: whole vectors alone.
    matryoshka: list[int] = field(default_factory=list)
    # The losses of the contextual stage of pplx-embed, over the chunks of long documents (batches.by_document): of a
    # query against the chunks of its document, against all chunks, and against whole documents. The keys above that
    # choose negatives apply to the last one. See trainer/loss/long_documents.py.
    contextual: bool = False
    # The share of the loss within a document in that over chunks; the rest is the loss over all chunks of the batch.
    sequence_share: float = field(default=0.2, metadata=between(0, 1))
    # The share of the loss over documents in the whole, at the first and at the last step.
    document_share_from: float = field(default=0.2, metadata=between(0, 1))
    document_share_to: float = field(default=0.5, metadata=between(0, 1))
    # With learning.teacher_weight, the soft labels: fused scores of the surrogate, or the `scores` of the pair files,
    # a list with a number for the document and then one for each of the `negatives`.
    teacher: Literal["surrogate", "pairs"] = "surrogate"
    # The documents among which the teacher distributes its probability: all of the batch, or with `local` the query's
    # own and its hard negatives (coCondenser, equations 15 and 16).
    teacher_scope: Literal["batch", "local"] = "batch"
    set_keys: frozenset[str] = field(default=frozenset(), compare=False, metadata={"set_keys": True})


# What a key needs to have an effect.
_NEEDS = {
    "quantise_scale": "objective.quantise",
    "sequence_share": "objective.contextual",
    "document_share_from": "objective.contextual",
    "document_share_to": "objective.contextual",
    "teacher": "learning.teacher_weight",
    "teacher_scope": "learning.teacher_weight",
}


def check_objective(objective: Objective, file: Path, *, has_teacher: bool, is_mined: bool) -> None:
    """Raise an InputError that names `file` if a key has no effect, or widths or scores make no sense.

    `has_teacher` means that there are soft labels, and `is_mined` that the run finds hard negatives itself.
    """
    present = {
        "objective.quantise": objective.quantise != "none",
        "objective.contextual": objective.contextual,
        "learning.teacher_weight": has_teacher,
    }
    for key, needed in _NEEDS.items():
        if key in objective.set_keys and not present[needed]:
            raise InputError(
                f"{file}: objective.{key} has no effect without {needed}.", f"Set {needed}, or leave the key out."
            )
    widths = objective.matryoshka
    if any(width < 1 for width in widths):
        raise InputError(f"{file}: objective.matryoshka has a number below 1.", "Name numbers of dimensions.")
    if len({*widths}) < len(widths):
        raise InputError(f"{file}: objective.matryoshka has a number twice.", "Name each number once.")
    if is_mined and has_teacher and objective.teacher == "pairs":
        raise InputError(
            f"{file}: mining.rounds finds new hard negatives, for which the pair files have no `scores`.",
            "Set objective.teacher to surrogate, or leave mining.rounds out.",
        )
