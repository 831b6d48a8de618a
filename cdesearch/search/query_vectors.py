"""The vectors of a query, for indexes that are searched at the same time."""

from concurrent.futures import Future
from threading import Lock

from cdesearch.context.context import Context
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder

Encoded = tuple[Floats, int | None]  # the vector (d,), and the number of tokens that were read of a longer query


class QueryVectors:
    """Encodes a query once for each model and context. Any number of threads may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._encoded: dict[tuple[str, str, str, int], Future[Encoded]] = {}

    def of(self, query: str, encoder: Encoder, context: Context) -> Encoded:
        """Return the vector of a query; raises ModelError."""
        dimension = context.sample_vectors.shape[1]  # which the fingerprint does not contain
        key = (query, encoder.fingerprint, context.fingerprint, dimension)
        with self._lock:
            is_first = key not in self._encoded
            future = self._encoded.setdefault(key, Future())
        if is_first:
            try:
                future.set_result(_encoded(query, encoder, context))
            except BaseException as error:  # the threads that wait must end, too
                future.set_exception(error)
        return future.result()


def _encoded(query: str, encoder: Encoder, context: Context) -> Encoded:
    vector = encoder.encode_each([query], "query", context)[0]
    return vector, encoder.max_tokens if encoder.truncates(query, "query") else None
