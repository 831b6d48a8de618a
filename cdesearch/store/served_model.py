"""The model on a server that built an index, as its manifest describes it."""

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from cdesearch.models.endpoint_model import EndpointModel

if TYPE_CHECKING:
    from cdesearch.context.vectors import Floats

Text = Annotated[str, Meta(max_length=10_000)]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model on a server, whose URL is the `model` of the manifest. It holds no key."""

    name: Text
    query_prefix: Text
    document_prefix: Text
    probes: str  # base64 of little-endian float16: the vectors of the probes when the index was built

    def __post_init__(self) -> None:
        """Raise ValueError for probes that are no base64."""
        base64.b64decode(self.probes, validate=True)

    @classmethod
    def of(cls, model: EndpointModel, probes: "Floats") -> "ServedModel":
        """Describe a model by the unit vectors (n, d) of its probes."""
        stored = base64.b64encode(probes.astype("<f2").tobytes()).decode()
        return cls(model.name, *model.prefixes, stored)

    def at(self, url: str) -> EndpointModel:
        """The model on the server at `url`."""
        return EndpointModel(url, self.name, self.query_prefix, self.document_prefix)

    def vectors(self, dimension: int) -> "Floats":
        """The vectors (n, d) of the probes; none if the stored text is not that of vectors of `dimension`."""
        import numpy as np

        stored = base64.b64decode(self.probes)
        if len(stored) % (2 * dimension):
            return np.empty((0, dimension), np.float32)
        return np.frombuffer(stored, "<f2").astype(np.float32).reshape(-1, dimension)
