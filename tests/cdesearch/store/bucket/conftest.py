import pytest
from built import write_documents
from object_server import object_server, store  # noqa: F401 (fixtures)

from cdesearch.progress import Silent
from indexer.build import build
from indexer.settings import Options


@pytest.fixture
def docs(tmp_path):
    return write_documents(tmp_path / "docs")


@pytest.fixture
def run(store, docs, tiny_checkpoint):  # noqa: F811 (the fixture)
    """Build or update the index in the bucket."""

    def run(**options):
        return build([docs], Options(index=store.place, model=tiny_checkpoint, **options), Silent())

    run.model = tiny_checkpoint
    return run
