from dataclasses import replace

import pytest
from beir_folder import write_set
from conftest import TINY, make_checkpoint

from benchmarks.datasets.dataset import read_dataset
from benchmarks.systems.product import Product
from cdesearch.encode.load import load_encoder
from cdesearch.store.index import Index


@pytest.mark.slow
def test_models_of_one_folder_name_have_indexes_of_their_own(tmp_path):
    dataset = read_dataset(write_set(tmp_path / "set"))
    configs = {"a": TINY, "b": replace(TINY, context_size=4)}
    models = [make_checkpoint(tmp_path / place / "final", config) for place, config in configs.items()]
    for model in models:
        Product(tmp_path / "work", "dense", model).retrieve(dataset)
    fingerprints = {load_encoder(model).fingerprint for model in models}
    indexes = [Index(folder) for folder in (tmp_path / "work" / "indexes").iterdir()]
    assert {index.manifest.model_fingerprint for index in indexes} == fingerprints and len(fingerprints) == 2


def test_data_sets_of_one_name_have_indexes_of_their_own(tmp_path, tiny_checkpoint):
    system = Product(tmp_path / "work", "text", tiny_checkpoint)
    corpora = [[{"_id": f"{part}{n}", "text": "the cat"} for n in range(3)] for part in "xy"]
    for part, corpus in zip("xy", corpora, strict=True):
        folder = write_set(tmp_path / part / "set", corpus=corpus, judged=[f"q0\t{part}0\t1"])
        found = system.retrieve(read_dataset(folder))
        assert sorted(found["q0"]) == [row["_id"] for row in corpus]
