import pytest
from embedding_server import serving

from cdesearch.encode.backends import endpoint


@pytest.fixture
def server(tiny_encoder, monkeypatch):
    """A server of embeddings that is asked again after a short wait."""
    monkeypatch.setattr(endpoint, "FIRST_WAIT", 0.01)
    with serving(lambda texts: tiny_encoder.encode(texts, "document", None)) as server:
        yield server
