import pytest
from built import WORDS


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(12):
        word = WORDS[number % len(WORDS)]
        (folder / f"{number:02}.md").write_text(f"# About {word} {number}\n\n" + f"the {word} is in the house. " * 8)
    return folder
