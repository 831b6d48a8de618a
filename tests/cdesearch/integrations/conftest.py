import pytest
from built import write_documents

import cdesearch


@pytest.fixture
def docs(tmp_path, tiny_checkpoint):
    """A folder of twelve documents with its index."""
    folder = write_documents(tmp_path / "docs")
    cdesearch.build(folder, model=tiny_checkpoint)
    return folder
