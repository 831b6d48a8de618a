"""Load the models that built the indexes: when a query first needs a model, and once for all indexes."""

from threading import Lock
from weakref import WeakValueDictionary

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device, check_device, load_encoder
from cdesearch.errors import IndexMismatchError
from cdesearch.models.endpoint_model import EndpointModel, Model
from cdesearch.store.index import Index


class ModelLoader:
    """Loads the models of indexes. Any number of threads may use it.

    `model` is the model that the user names: a folder, an id that is in the cache, or the URL of a server. Without it,
    the model that the index names is used if the user has confirmed it. A model stays loaded as long as its encoder is
    referenced.
    """

    def __init__(self, device: Device = "auto", model: Model | None = None) -> None:
        check_device(device)
        self._device = device
        self._model = model
        self._loading = Lock()
        self._loaded: WeakValueDictionary[tuple[str, str], Encoder] = WeakValueDictionary()  # by fingerprint and URL

    def encoder_for(self, index: Index) -> Encoder:
        """Return the model of an index.

        Raises ModelError, IndexUntrustedError, and IndexMismatchError if another model built the index.
        """
        with self._loading:
            url = self._url(index)
            encoder = self._loaded.get((index.manifest.model_fingerprint, url))
            if encoder is None:
                if self._model is None:
                    index.require_trust(folders=False)
                plain = not index.manifest.added_context
                encoder = load_encoder(self._model_of(index, url), self._device, fetch=False, plain=plain)
                self._loaded[encoder.fingerprint, url] = encoder
        index.check_encoder(encoder)
        return encoder

    def _url(self, index: Index) -> str:
        """Return the URL of the server to ask; empty for a model that runs here."""
        manifest = index.manifest
        if isinstance(self._model, EndpointModel):
            return self._model.url
        return manifest.model or "" if self._model is None and manifest.served is not None else ""

    def _model_of(self, index: Index, url: str) -> Model | None:
        served = index.manifest.served
        if url and served is not None:
            return served.at(url)
        if url:
            raise IndexMismatchError(
                "The index was not built by a model on a server.", "Leave --model out, or name the model that built it."
            )
        return self._model or index.model_to_open
