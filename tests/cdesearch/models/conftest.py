import pytest
from small_corpus import write_corpus


@pytest.fixture
def documents(tmp_path):
    return write_corpus(tmp_path / "documents")
