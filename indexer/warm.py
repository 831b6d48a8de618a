"""The model and the worker processes of builds, which a process keeps between its updates."""

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device, load_encoder
from cdesearch.models.endpoint_model import EndpointModel, Model
from indexer.workers.pool import Pool


class Warm:
    """Keeps the model, which may be `given`, and one idle worker process between updates; `close` ends the process.

    A model on a server is loaded for each update, which asks the server whether it is still the same.
    """

    def __init__(self, given: Encoder | None = None) -> None:
        self._given = given
        self._loaded: dict[tuple[Model | None, Device, bool], Encoder] = {}  # at most one
        self._ready: Pool | None = None

    def encoder(self, model: Model | None, device: Device, *, plain: bool) -> Encoder:
        """The model, as `load_encoder` opens it; raises ModelError."""
        key, is_served = (model, device, plain), isinstance(model, EndpointModel)
        if self._given is not None and not is_served:
            return self._given
        if key not in self._loaded or is_served:
            self._loaded.clear()
            self._loaded[key] = load_encoder(model, device, plain=plain)
        return self._loaded[key]

    def pool(self) -> Pool:
        """A worker process, to which more can be added, and which the caller closes."""
        pool, self._ready = self._ready or Pool(1), None
        return pool

    def prepare(self) -> None:
        """Start a worker process now, so that the next update does not wait for it."""
        self._ready = self._ready or Pool(1)

    def close(self) -> None:
        """End the process and drop the model, so that the next update loads it again."""
        self._loaded.clear()
        if self._ready is not None:
            self._ready.close()
            self._ready = None
