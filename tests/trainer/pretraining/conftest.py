import pytest
from conftest import make_checkpoint
from random_texts import masking_tokenizer


@pytest.fixture(scope="session")
def start(tmp_path_factory):
    """A checkpoint whose tokenizer has a token for masks."""
    folder = make_checkpoint(tmp_path_factory.mktemp("start") / "model")
    masking_tokenizer().save(str(folder / "tokenizer.json"))
    return folder
