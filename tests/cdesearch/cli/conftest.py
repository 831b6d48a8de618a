import pytest
from built import write_files
from command import cdesearch


@pytest.fixture(scope="session")
def index_of(tmp_path_factory):
    """A function that writes files, whose texts are given by name, into a new folder, and indexes it."""

    def made(texts):
        folder = write_files(tmp_path_factory.mktemp("docs"), texts)
        cdesearch("index", ".", cwd=folder)
        return folder

    return made
