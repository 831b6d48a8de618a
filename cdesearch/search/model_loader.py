"""Load the models that built the indexes: when a query first needs a model, and once for all indexes."""

from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device, check_device, load_encoder
from cdesearch.models.hub import stored_model
from cdesearch.store.index import Index
from cdesearch.store.trust import require_trust


class ModelLoader:
    """Loads the models of indexes. Any number of threads may use it.

    `model` is the model that the user names: a folder, or an id that is in the cache. Without it, the model that the
    index names is used if the user has confirmed it. A model stays loaded as long as its encoder is referenced.
    """

    def __init__(self, device: Device = "auto", model: Path | None = None) -> None:
        check_device(device)
        self._device = device
        self._model = model
        self._loading = Lock()
        self._loaded: WeakValueDictionary[str, Encoder] = WeakValueDictionary()  # by fingerprint

    def encoder_for(self, index: Index) -> Encoder:
        """Return the model of an index.

        Raises ModelError, IndexUntrustedError, and IndexMismatchError if another model built the index.
        """
        with self._loading:
            encoder = self._loaded.get(index.manifest.model_fingerprint)
            if encoder is None:
                if self._model is None:
                    require_trust(index, folders=False)
                model = self._model or stored_model(index.manifest.model)
                encoder = load_encoder(model, self._device, fetch=False, plain=not index.manifest.added_context)
                self._loaded[encoder.fingerprint] = encoder
        index.check_encoder(encoder)
        return encoder
