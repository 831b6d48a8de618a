import json

import pytest
from command import cdesearch

import cdesearch as package
from cdesearch.cli.typed_path import globs_of


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder that contains the indexed folder `two [2]`."""
    place = tmp_path_factory.mktemp("place")
    for name in ("other/20.txt", "other/deep/21.txt", "guides/30.txt", "20.txt"):
        file = place / "two [2]" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"The owl of {name} hoots.")
    cdesearch("index", "two [2]", cwd=place)
    return place


def found(place, pattern, cwd, *, code=0):
    index = place / "two [2]"
    arguments = ["owl", "--mode", "text", "--path", pattern, "--index", index, "--json"]
    answer = json.loads(cdesearch("query", *arguments, cwd=cwd, code=code).stdout)
    return {hit["path"] for hit in answer["hits"]}


OTHER = {"other/20.txt", "other/deep/21.txt"}
ALL = {*OTHER, "guides/30.txt", "20.txt"}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("two */other/*", {"other/20.txt"}),  # as hits are shown
        ("./two */other/*", {"other/20.txt"}),
        ("two */other/**", OTHER),
        ("*/other", OTHER),
        ("two */20.txt", {"20.txt"}),
        ("**/2?.txt", {*OTHER, "20.txt"}),
        (".", ALL),
        ("other/*", {"other/20.txt"}),  # relative to the indexed folder
        ("*.txt", ALL),
        ("{place}/two */guides/*", {"guides/30.txt"}),  # absolute
        ("{place}/two */20.txt", {"20.txt"}),
        ("{place}", ALL),
        ("{place}/**/other/*", {"other/20.txt"}),
    ],
)
def test_a_pattern_matches_the_path_as_shown_as_stored_or_as_an_absolute_one(place, pattern, expected):
    assert found(place, pattern.replace("{place}", str(place)), place) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("../guides/*", {"guides/30.txt"}),
        ("*.txt", ALL),
        ("deep/*", {"other/deep/21.txt"}),
        ("../20.txt", {"20.txt"}),
        ("..", ALL),
        ("../..", ALL),
        ("guides/*", {"guides/30.txt"}),
    ],
)
def test_a_pattern_may_be_typed_in_a_folder_below_the_indexed_one(place, pattern, expected):
    assert found(place, pattern, place / "two [2]" / "other") == expected


def test_an_absolute_pattern_may_lead_through_a_link(place, tmp_path):
    link = tmp_path / "link"
    try:
        link.symlink_to(place / "two [2]", target_is_directory=True)
    except OSError:
        pytest.skip("this user may not create links")
    assert found(place, f"{link}/guides/*", place) == {"guides/30.txt"}


@pytest.mark.parametrize("pattern", ["two/other/*", "{place}/guides/*", "/nowhere"])
def test_a_pattern_that_matches_no_file_is_reported_with_the_folder_that_it_is_relative_to(place, pattern):
    pattern = pattern.replace("{place}", str(place))
    for form in ([], ["--json"]):
        arguments = ["owl", "--mode", "text", "--path", pattern, "--index", "two [2]", *form]
        run = cdesearch("query", *arguments, cwd=place, code=1)
        assert run.stderr == (
            f"No indexed file matches --path {pattern}. Patterns are relative to {place / 'two [2]'},"
            " or to the working directory.\n"
        )
        assert not form or json.loads(run.stdout)["hits"] == []
    run = cdesearch("query", "zebra", "--mode", "text", "--path", "other", "--index", "two [2]", cwd=place, code=1)
    assert run.stderr == "No hits.\n"


def test_many_double_stars_do_not_multiply(place):
    with package.open(place / "two [2]") as opened:
        globs = globs_of("/" + "**/*/" * 40 + "*.txt", opened.index)
        assert 0 < len(globs) <= 2 * len(opened.index.root.parts)
