import json

import pytest
from built import write_files
from command import cdesearch

import cdesearch as package
from cdesearch.search.path_filter import globs_of

OTHER = {"other/20.txt", "other/deep/21.txt"}
ALL = {*OTHER, "guides/30.txt", "20.txt", "a[1.txt"}


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    """A folder that contains the indexed folder `two [2]`."""
    parent = tmp_path_factory.mktemp("parent")
    write_files(parent / "two [2]", {name: f"The owl of {name} hoots." for name in ALL})
    cdesearch("index", "two [2]", cwd=parent)
    return parent


def found(parent, *patterns, cwd, code=0):
    index = parent / "two [2]"
    paths = [argument for pattern in patterns for argument in ("--path", pattern)]
    arguments = ["owl", "--mode", "text", *paths, "--index", index, "--json"]
    answer = json.loads(cdesearch("query", *arguments, cwd=cwd, code=code).stdout)
    return {hit["path"] for hit in answer["hits"]}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("two */other/*", {"other/20.txt"}),  # relative to the working directory, as hits are printed
        ("two */20.txt", {"20.txt"}),
        ("two [[]2]/{other,guides}/*.txt", {"other/20.txt", "guides/30.txt"}),
        ("{parent}/two */{guides,other/deep}", {"guides/30.txt", "other/deep/21.txt"}),
        ("two [2]/other/20.txt", {"other/20.txt"}),  # as a hit shows it, although [2] is a set of characters
        ("{parent}/two [2]/other", OTHER),
        ("other/*", {"other/20.txt"}),  # relative to the indexed folder
        ("{parent}/two */guides/*", {"guides/30.txt"}),  # absolute
        ("{parent}/**/other/*", {"other/20.txt"}),
        ("a[1.txt", {"a[1.txt"}),  # a bracket without an end
    ],
)
def test_a_pattern_matches_printed_paths_stored_paths_and_absolute_paths(parent, pattern, expected):
    assert found(parent, pattern.replace("{parent}", str(parent)), cwd=parent) == expected


@pytest.mark.parametrize(("pattern", "expected"), [("../guides/*", {"guides/30.txt"}), ("../20.txt", {"20.txt"})])
def test_a_pattern_may_be_typed_in_a_folder_below_the_indexed_one(parent, pattern, expected):
    assert found(parent, pattern, cwd=parent / "two [2]" / "other") == expected


def test_an_absolute_pattern_may_lead_through_a_link(parent, tmp_path):
    link = tmp_path / "link"
    try:
        link.symlink_to(parent / "two [2]", target_is_directory=True)
    except OSError:
        pytest.skip("this user may not create links")
    assert found(parent, f"{link}/guides/*", cwd=parent) == {"guides/30.txt"}


@pytest.mark.parametrize("pattern", ["two/other/*", "{parent}/guides/*", "/nowhere"])
def test_a_pattern_that_matches_no_file_is_reported_with_the_folder_that_it_is_relative_to(parent, pattern):
    pattern = pattern.replace("{parent}", str(parent))
    for form in ([], ["--json"]):
        arguments = ["owl", "--mode", "text", "--path", pattern, "--index", "two [2]", *form]
        run = cdesearch("query", *arguments, cwd=parent, code=1)
        assert run.stderr == (
            f"No indexed file matches --path {pattern}. Patterns are relative to {parent / 'two [2]'},"
            " or to the working directory.\n"
        )
        assert not form or json.loads(run.stdout)["hits"] == []
    run = cdesearch("query", "zebra", "--mode", "text", "--path", "other", "--index", "two [2]", cwd=parent, code=1)
    assert run.stderr == "No hits.\n"


def test_a_pattern_with_many_double_stars_becomes_few_globs(parent):
    with package.open(parent / "two [2]") as opened:
        globs = globs_of("/" + "**/*/" * 40 + "*.txt", opened.index)
        assert 0 < len(globs) <= 2 * len(opened.index.root.parts)
