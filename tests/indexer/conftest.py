import pytest
from built import make_index, write_documents
from embedding_server import serving
from object_server import object_server, store  # noqa: F401 (fixtures)


@pytest.fixture
def docs(tmp_path):
    return write_documents(tmp_path / "docs")


@pytest.fixture
def run(docs, tiny_checkpoint):
    def run(**options):
        return make_index([docs], model=tiny_checkpoint, **options)

    return run


@pytest.fixture
def no_confirmations(tmp_path, monkeypatch):
    """An empty record of the models and servers that the user has confirmed."""
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "config"))


@pytest.fixture
def server(tiny_encoder, no_confirmations):
    """A server of the vectors of the tiny model, which nobody has confirmed."""
    with serving(lambda texts: tiny_encoder.encode(texts, "document", None)) as server:
        yield server
