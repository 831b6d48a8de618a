"""Each family of models is one class and one entry in the registry."""

import pytest

from cdesearch.encode.load import load_encoder
from cdesearch.errors import ModelError
from cdesearch.models import registry


def test_a_folder_of_no_family_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"bag_seed": 5}')
    with pytest.raises(ModelError, match="does not belong to a checkpoint that cdesearch can read"):
        load_encoder(tmp_path)


def test_each_family_is_the_first_that_detects_its_own_fields():
    fields = ({"embedder": "x"}, {"format": 2}, {"model_type": "bidirectional_pplx_qwen3"}, {"model_type": "bert"})
    first = [next(number for number, family in enumerate(registry.FAMILIES) if family.detect(one)) for one in fields]
    assert first == [0, 1, 2, 3]
