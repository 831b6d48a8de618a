import pytest
from built import write_documents


@pytest.fixture
def docs(tmp_path):
    return write_documents(tmp_path / "docs")
