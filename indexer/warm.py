"""The model and the worker processes of a build: made for one build, or kept between the updates of one process."""

from typing import Protocol

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device, load_encoder
from cdesearch.models.endpoint_model import EndpointModel, Model
from indexer.workers.pool import Pool


class Tools(Protocol):
    """Where a build gets its model and its worker processes."""

    def encoder(self, model: Model | None, device: Device, *, plain: bool) -> Encoder:
        """The model, as `load_encoder` opens it; raises ModelError."""

    def pool(self, n_workers: int) -> Pool:
        """Worker processes, which the caller closes."""


class Fresh:
    """Starts the processes for one build, and loads the model unless it is `given`.

    A model on a server is always loaded, which asks the server whether it is still the same.
    """

    def __init__(self, given: Encoder | None = None) -> None:
        self._given = given

    def encoder(self, model: Model | None, device: Device, *, plain: bool) -> Encoder:
        given = None if isinstance(model, EndpointModel) else self._given
        return given or load_encoder(model, device, plain=plain)

    def pool(self, n_workers: int) -> Pool:
        return Pool(n_workers)


class Warm:
    """Keeps the model and one idle worker process between updates; `close` ends the process.

    A model on a server is loaded for each update, which asks the server whether it is still the same.
    """

    def __init__(self) -> None:
        self._loaded: dict[tuple[Model | None, Device, bool], Encoder] = {}  # at most one
        self._ready: Pool | None = None

    def encoder(self, model: Model | None, device: Device, *, plain: bool) -> Encoder:
        key = model, device, plain
        if key not in self._loaded or isinstance(model, EndpointModel):
            self._loaded.clear()
            self._loaded[key] = load_encoder(model, device, plain=plain)
        return self._loaded[key]

    def pool(self, n_workers: int) -> Pool:
        if n_workers != 1 or self._ready is None:
            return Pool(n_workers)
        pool, self._ready = self._ready, None
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
