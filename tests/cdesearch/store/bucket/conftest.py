import pytest
from built import make_index
from object_server import object_server, store  # noqa: F401 (fixtures)


@pytest.fixture
def run(store, docs, tiny_checkpoint):  # noqa: F811 (the fixture)
    """Build or update the index in the bucket."""

    def run(**options):
        return make_index([docs], index=store.place, model=tiny_checkpoint, **options)

    run.model = tiny_checkpoint
    return run
