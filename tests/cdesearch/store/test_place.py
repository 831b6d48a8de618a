from pathlib import Path

import pytest

from cdesearch.errors import InputError
from cdesearch.store.copies import copies_of, on_this_computer, original_place, shown_source
from cdesearch.store.place import BucketAddress, parse_place


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("s3://bucket/docs", BucketAddress("s3", "bucket", "docs")),
        ("s3://bucket/team/docs/", BucketAddress("s3", "bucket", "team/docs")),
        ("gs://a.bucket/v=1/docs+notes", BucketAddress("gs", "a.bucket", "v=1/docs+notes")),
        ("az://container", BucketAddress("az", "container", "")),
    ],
)
def test_an_address_is_parsed_and_shown_as_it_is_typed(text, address):
    assert parse_place(text) == address
    assert str(address) == text.rstrip("/")


@pytest.mark.parametrize("text", ["docs", "/data/docs", "C:/docs", "a:b", ".", "s3%3A%2F%2Fbucket"])
def test_everything_without_a_scheme_is_a_path(text):
    assert parse_place(text) == Path(text)


def test_an_address_with_one_slash_is_a_slip_unless_there_is_such_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="begins with s3:// and two slashes"):
        parse_place("s3:/bucket/docs")
    (tmp_path / "s3:").mkdir()
    assert parse_place("s3:/bucket/docs") == Path("s3:/bucket/docs")


def test_a_file_url_is_a_path():
    assert parse_place("file:///data/my%20docs") == Path("/data/my docs")
    with pytest.raises(InputError, match="names a path of this computer"):
        parse_place("file://host/data")


def test_the_root_of_files_in_buckets_is_in_the_cache_of_this_user():
    copies = copies_of(parse_place("s3://bucket/docs"))
    assert on_this_computer(Path("/home/ann/.cache/cdesearch/sources") / copies.name, ["."]) == copies
    assert on_this_computer(Path("/home/ann/.cache/cdesearch/sources"), [copies.name]) == copies.parent
    for other in ("/home/ann/cdesearch/sources/docs", f"/home/ann/{copies.name}", "/home/ann/cdesearch/sources"):
        assert on_this_computer(Path(other), ["."]) == on_this_computer(Path(other), ["notes"]) == Path(other)


def test_a_copied_file_is_shown_as_the_object():
    copies = copies_of(parse_place("s3://bucket/docs"))
    assert shown_source(copies) == "s3://bucket/docs" and shown_source(Path("/docs")) == "/docs"
    assert original_place(copies / "a" / "b.md") == "s3://bucket/docs/a/b.md"
    assert original_place(Path("/docs/b.md")) is None and original_place(copies) is None


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "s3://Bucket/docs",
        "s3://bucket/../docs",
        "s3://key:secret@bucket/docs",
        "s3://bucket/docs?token=secret",
        "http://host/docs",
        "file:///tmp/secret%00x",
    ],
)
def test_another_url_is_refused_without_repeating_what_may_be_a_secret(text):
    with pytest.raises(InputError) as refused:
        parse_place(text)
    assert "secret" not in str(refused.value)
