from pathlib import Path

import pytest

from cdesearch.models.catalog import languages_of
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.models.model_card import ModelCard, read_card
from cdesearch.words.known import LANGUAGES, MOST_LANGUAGES


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("---\nlanguage: en\nlicense: mit\n---\n# A model\n", ("en",)),
        ("---\r\nlanguage: en\r\n---\r\n", ("en",)),
        ("---\nlicense: mit\nlanguage:\n- en\n- de\n- zh-CN\n---\n", ("de", "en", "zh")),
        ("---\nlanguage: [en, 'no', nb]\n---\n", ("en", "no")),
        ("---\nlanguage:\n- en\n- no\n---\n", ("en", "no")),
        ("---\nlanguage: multilingual\n---\n", ()),
        ("---\nlanguage: [multilingual, fr]\n---\n", ("fr",)),
        ("---\nlicense: mit\n---\nlanguage: en\n", ()),
        ("language: en\n", ()),
        ("", ()),
    ],
)
def test_the_languages_of_a_model_are_those_of_its_card(tmp_path, card, expected):
    (tmp_path / "README.md").write_bytes(card.encode())
    assert languages_of(tmp_path) == expected


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("no front matter", ModelCard()),
        ("---\nlicense: [", ModelCard()),
        ("---\n- a\n---\n", ModelCard()),
        ("---\nlicense: [3]\n---\n", ModelCard()),
        ("---\nlanguage: !!timestamp x\nlicense: mit\n---\n", ModelCard("mit", ("x",))),
        ("---\nlanguage: !!python/object:os.system x\nlicense: mit\n---\n", ModelCard("mit", ("x",))),
        ('---\nlicense: "a\\e[31mb\\n"\nlanguage: null\n---\n', ModelCard("a[31mb")),
        ("---\nlicense: other\nlicense_name: gemma\nlanguage: [a, b, c, d]\n---\n", ModelCard("gemma", tuple("abcd"))),
    ],
)
def test_a_card_is_read_as_data_alone(tmp_path, card, expected):
    (tmp_path / "README.md").write_text(card)
    assert read_card(tmp_path) == expected


def test_people_are_shown_what_the_card_says_about_languages():
    shown = [ModelCard(languages=some).shown_languages for some in (("multilingual",), ("en", "zh-CN"), tuple("abcd"))]
    assert shown == ["multilingual", "en, zh-CN", "4 languages"]


def test_a_card_names_no_more_languages_than_a_manifest_may_hold(tmp_path):
    codes = [a + b + c for a in "abcdefghijk" for b in "abcdefghijk" for c in "abcdefghijk"]
    (tmp_path / "README.md").write_text(f"---\nlanguage: [{', '.join(codes)}]\n---\n")
    assert len(languages_of(tmp_path)) == MOST_LANGUAGES < len(codes)


def test_a_model_without_a_card_has_no_known_languages(tmp_path):
    assert read_card(tmp_path) == ModelCard()
    assert languages_of(tmp_path) == () == languages_of(EndpointModel("http://host/v1", "jxm/cde-small-v2"))


def test_the_languages_of_the_default_model_and_of_known_models_are_known():
    assert languages_of(None) == ("en",) == languages_of(Path("jxm/cde-small-v2"))
    assert languages_of(Path("intfloat/multilingual-e5-small")) == tuple(LANGUAGES)
