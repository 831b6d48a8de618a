import re

import pytest

from cdesearch.path_filter import path_condition


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.md", "a.md", True),
        ("*.md", "sub/a.md", True),
        ("sub/*.md", "sub/a.md", True),
        ("sub/*.md", "sub/deep/a.md", False),
        ("sub/**/*.md", "sub/deep/a.md", True),
        ("sub/**/*.md", "sub/a.md", True),
        ("sub", "sub/deep/a.md", True),
        ("sub/", "sub/a.md", True),
        ("sub", "subway/a.md", False),
        ("a?.md", "ab.md", True),
        ("[!a].md", "a.md", False),
        ("it's.md", "it's.md", True),
        ("a.md", "aXmd", False),
    ],
)
def test_globs(glob, path, expected):
    expression = re.fullmatch(r"regexp_like\(path, '(.*)'\)", path_condition(glob), re.DOTALL)[1].replace("''", "'")
    assert bool(re.search(expression, path)) is expected
