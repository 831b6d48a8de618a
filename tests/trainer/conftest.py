import numpy as np
import pytest
from batches import WORDS, write_rows
from random_biencoder import biencoder_folder


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    """A published biencoder, which tests only read."""
    return biencoder_folder(tmp_path_factory.mktemp("published") / "bert")


@pytest.fixture
def small_recipe(tmp_path, tiny_checkpoint):
    """The file of a recipe of three steps for 60 pairs."""
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, size=4)) for _ in range(60)]
    rows = [{"query": f"{text.split()[0]} {number}", "document": text} for number, text in enumerate(texts)]
    write_rows(tmp_path / "pairs.jsonl", rows)
    (tmp_path / "recipe.toml").write_text(
        f"""
        data = {{ pairs = ["{tmp_path}/pairs.jsonl"], held_out = 0.2 }}
        model = {{ start = "{tiny_checkpoint}" }}
        batches = {{ size = 8, context_size = 8, cluster_size = 8 }}
        learning = {{ steps = 3, warmup = 1, micro_batch = 4 }}
        run = {{ out = "{tmp_path}/out", surrogate = "{tiny_checkpoint}" }}
        """
    )
    return tmp_path / "recipe.toml"
