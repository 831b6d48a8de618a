import pytest
from built import make_index
from object_server import object_server, store  # noqa: F401 (fixtures)


@pytest.fixture
def run(docs, tiny_checkpoint):
    def run(**options):
        return make_index([docs], model=tiny_checkpoint, **options)

    return run
