"""The registry of formats: the choice of a format, and a new format, which needs only a class and an entry."""

import pytest

from indexer.formats.registry import FORMATS, format_of, is_known


def test_every_suffix_can_be_found():
    for one in FORMATS:
        for suffix in one.suffixes:
            assert suffix == suffix.lower() and suffix.startswith(".") and suffix.count(".") == 1
            assert format_of(f"a.b{suffix.upper()}") is one
        for name in one.names:
            assert format_of(name.title()) is one


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.md", "Markdown"),
        ("CMakeLists.txt", "Code"),
        ("lists.txt", "PlainText"),
        ("README", "PlainText"),
        ("readme.rst", "RestructuredText"),
    ],
)
def test_a_file_is_read_by_the_format_that_lists_its_name_or_else_its_suffix(name, expected):
    assert is_known(name) and type(format_of(name)).__name__ == expected
