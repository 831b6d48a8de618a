import pytest
from small_corpus import CORPUS


@pytest.fixture
def documents(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    for number, text in enumerate(CORPUS):
        (folder / f"{number}.txt").write_text(text)
    return folder
