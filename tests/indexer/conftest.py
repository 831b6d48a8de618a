import pytest
from built import write_documents

from cdesearch.progress import Silent
from indexer.build import build
from indexer.settings import Options


@pytest.fixture
def docs(tmp_path):
    return write_documents(tmp_path / "docs")


@pytest.fixture
def run(docs, tiny_checkpoint):
    def run(**options):
        return build([docs], Options(model=tiny_checkpoint, **options), Silent())

    return run
