import pytest

from cdesearch.models.catalog import languages_of
from cdesearch.models.model_card import card_languages


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("---\nlanguage: en\nlicense: mit\n---\n# A model\n", ("en",)),
        ("---\nlicense: mit\nlanguage:\n- en\n- de\n- zh-CN\n---\n", ("de", "en", "zh")),
        ("---\nlanguage: [en, 'no', nb]\n---\n", ("en", "no")),
        ("---\nlanguage: multilingual\n---\n", ()),
        ("---\nlicense: mit\n---\nlanguage: en\n", ()),
        ("language: en\n", ()),
        ("", ()),
    ],
)
def test_the_languages_of_a_model_are_those_of_its_card(tmp_path, card, expected):
    (tmp_path / "README.md").write_text(card)
    assert card_languages(tmp_path) == expected


def test_a_folder_without_a_card_has_no_known_languages(tmp_path):
    assert card_languages(tmp_path) == () == languages_of(tmp_path)


def test_the_languages_of_the_default_model_and_of_known_models_are_known():
    from pathlib import Path

    assert languages_of(None) == ("en",) == languages_of(Path("jxm/cde-small-v2"))
