import pytest
from sound_index import SoundIndex


@pytest.fixture(scope="module")
def built(tmp_path_factory, tiny_checkpoint, tiny_encoder):
    return SoundIndex(tmp_path_factory.mktemp("damage"), tiny_checkpoint, tiny_encoder, 12)


@pytest.fixture
def sound(built):
    yield built
    (built.docs / "later.md").unlink(missing_ok=True)
    built.restore()
