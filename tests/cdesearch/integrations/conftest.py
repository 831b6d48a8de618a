import pytest

import cdesearch


@pytest.fixture
def docs(docs, tiny_checkpoint):
    """A folder of twelve documents with its index."""
    cdesearch.build(docs, model=tiny_checkpoint)
    return docs
