"""The protocol of model families: what a kind of checkpoint must be able to do.

`cdesearch.models.registry` lists the families. A new one is a module with this protocol, and one line there.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cdesearch.models.config import ModelConfig

if TYPE_CHECKING:
    from torch import Tensor

TOKENIZER = "tokenizer.json"


class Network(Protocol):
    """A model of any family as a torch module. Ids and 0/1 mask are (B, T), padded on the right."""

    @property
    def reads_context(self) -> bool:
        """Whether first-stage vectors change the second stage's."""

    @property
    def prefix_rows(self) -> int:
        """Rows that precede each text in the second stage."""

    def first_stage(self, input_ids: "Tensor", attention_mask: "Tensor") -> "Tensor":
        """(B, d), not normalised."""

    def cache(self, vectors: "Tensor", is_null: "Tensor") -> "tuple[Tensor, Tensor] | None":
        """Keys and values (L, J, d) to store with a context (J, d); None if there is nothing to store."""

    def prepare_context(self, vectors: "Tensor", is_null: "Tensor", cached: Any) -> Any:
        """A context (J, d), with what `cache` made of it, in the form that `pooled` takes for every batch."""

    def pooled(
        self, input_ids: "Tensor", attention_mask: "Tensor", weights: "Tensor", context: Any
    ) -> "tuple[Tensor, Tensor | None]":
        """(B, d) before the statistics head, in a prepared context, and the states (B, T, d) of all tokens.

        `weights` (B, T) of the tokens are zero on padding. The states are None if tokens cannot be compared.
        """


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A checkpoint folder of any family, in the terms of this project."""

    config: ModelConfig
    tokenizer: Path
    fingerprint: str  # a hash of everything that the vectors depend on
    load_network: Callable[[], Network]  # needs torch; raises ModelError
    onnx: Path | None = None  # the folder of an ONNX export, which needs no torch
    separator: str | None = None  # the token between chunks of a document that are read together; None: each is alone
    remark: str | None = None  # a line for the user about what the folder does not state


class ModelFamily(Protocol):
    """One kind of checkpoint."""

    title: str  # for `cdesearch models`
    needs_torch: bool = True
    needs_transformers: bool = False  # whether the library transformers computes the network
    is_exported: bool = False  # whether the first build with a model exports it, so that it then runs without torch
    reads_corpus: bool = False  # whether it was trained to read a corpus; to others, statistics are added

    def detect(self, fields: Mapping[str, Any]) -> bool:
        """Whether a folder whose config.json has these fields is a checkpoint of this family."""

    def dimension(self, folder: Path) -> int:
        """The number of dimensions of the vectors, without reading the weights; raises ModelError."""

    def open(self, folder: Path) -> LoadedModel:
        """Read the folder; raises ModelError. Nothing is downloaded, and no code of the folder runs."""


def lazily(name: str, *arguments: Any) -> Callable[[], Network]:
    """What calls the function "module:name", whose module it imports then: torch takes seconds."""
    from pkgutil import resolve_name

    return lambda: resolve_name(name)(*arguments)


def hash_files(files: Sequence[Path], stated: str = "") -> str:
    """The fingerprint of a published checkpoint: what is `stated`, and names and contents of the files that exist."""
    digest = hashlib.blake2b(stated.encode(), digest_size=16)
    for file in files:
        if file.is_file():
            with file.open("rb") as stream:
                digest.update(file.name.encode() + hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
