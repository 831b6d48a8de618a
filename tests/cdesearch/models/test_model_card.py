from pathlib import Path

import pytest

from cdesearch.languages.known import LANGUAGES, MOST_LANGUAGES
from cdesearch.models.catalog import languages_of
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.models.model_card import ModelCard, read_card


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


def test_people_are_shown_what_the_card_says_about_languages():
    assert ModelCard(languages=("multilingual",)).shown_languages == "multilingual"
    assert ModelCard(languages=("en", "zh-CN")).shown_languages == "en, zh-CN"


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


@pytest.mark.parametrize(
    "front",
    [
        "language: !!timestamp x",
        "language: !!int ''",
        "language: !!bool maybe",
        "language: !!python/object:os.system x",
        "language: [!!float a, {b: c}]",
    ],
)
def test_a_value_with_a_tag_is_read_as_text(tmp_path, front):
    (tmp_path / "README.md").write_text(f"---\n{front}\nlicense: mit\n---\n")
    assert read_card(tmp_path).licence == "mit"


def test_control_characters_of_a_card_are_not_shown(tmp_path):
    (tmp_path / "README.md").write_text('---\nlicense: "a\\e[31mb\\n"\nlanguage: null\n---\n')
    assert read_card(tmp_path) == ModelCard("a[31mb", ())
