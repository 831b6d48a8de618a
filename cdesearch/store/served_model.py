"""The model on a server that built an index, as its manifest describes it."""

import base64
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from cdesearch.models.endpoint_model import EndpointModel, is_url

if TYPE_CHECKING:
    from cdesearch.context.vectors import Floats

MAX_CHARACTERS = 10_000  # of the name and of each prefix


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model on a server, whose URL is the `model` of the manifest. It holds no key."""

    name: str
    query_prefix: str
    document_prefix: str
    probes: str  # base64 of little-endian float16: the vectors of the probes when the index was built

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


def checked_served(values: Any, model: Any) -> ServedModel | None:
    """The stored description of the model whose name in the manifest is `model`; raises TypeError or ValueError."""
    if values is None:
        return None
    names = {item.name for item in fields(ServedModel)}
    is_described = isinstance(values, dict) and values.keys() == names
    if not is_described or not all(isinstance(value, str) for value in values.values()):
        raise TypeError("served does not describe a model")
    if not isinstance(model, str) or not is_url(model):
        raise ValueError("served needs a URL as model")
    if any(len(values[name]) > MAX_CHARACTERS for name in names - {"probes"}):
        raise ValueError("served has a text that is too long")
    base64.b64decode(values["probes"], validate=True)
    return ServedModel(**values)
