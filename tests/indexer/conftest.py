import pytest
from built import WORDS

from indexer.build import build
from indexer.progress import Silent
from indexer.settings import Options


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(12):
        word = WORDS[number % len(WORDS)]
        (folder / f"{number:02}.md").write_text(f"# About {word} {number}\n\n" + f"the {word} is in the house. " * 8)
    return folder


@pytest.fixture
def run(docs, tiny_checkpoint):
    def run(**options):
        return build([docs], Options(model=tiny_checkpoint, **options), Silent())

    return run
