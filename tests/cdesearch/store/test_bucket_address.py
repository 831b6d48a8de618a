from pathlib import Path

import pytest

from cdesearch.errors import CdesearchError, InputError
from cdesearch.store.bucket_address import (
    BucketAddress,
    address_behind,
    address_of,
    on_this_computer,
    parse_place,
    parse_source,
    shown_place,
)


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
def test_an_address_is_a_folder_that_is_shown_as_the_address(text, address):
    place = parse_place(text)
    assert address_of(place) == address
    assert shown_place(place) == shown_place(address.working_copy) == str(address) == text.rstrip("/")
    assert address_of(address.working_copy) is None
    assert address_behind(address.working_copy) == address


@pytest.mark.parametrize("text", ["docs", "/data/docs", "C:/docs", "a:b", ".", "s3%3A%2F%2Fbucket"])
def test_everything_without_a_scheme_is_a_path(text):
    assert parse_place(text) == Path(text)
    assert address_of(parse_place(text)) is None


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


def test_the_case_of_a_scheme_does_not_matter():
    assert parse_place("S3://bucket/docs") == parse_place("s3://bucket/docs")


def test_the_root_of_files_in_buckets_is_in_the_cache_of_this_user():
    copies = parse_source("s3://bucket/docs")
    assert on_this_computer(Path("/home/ann/.cache/cdesearch/sources") / copies.name, ["."]) == copies
    assert on_this_computer(Path("/home/ann/.cache/cdesearch/sources"), [copies.name]) == copies.parent
    for other in ("/home/ann/cdesearch/sources/docs", f"/home/ann/{copies.name}", "/home/ann/cdesearch/sources"):
        assert on_this_computer(Path(other), ["."]) == on_this_computer(Path(other), ["notes"]) == Path(other)


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "s3://ab",
        "s3://Bucket/docs",
        "s3://bucket//docs",
        "s3://bucket/../docs",
        "s3://key:secret@bucket/docs",
        "s3://bucket/docs?token=secret",
        "s3://bucket/a b",
        "s3://bucket/" + "a" * 250,
        "http://host/docs",
        "file:///tmp/secret%00x",
    ],
)
def test_another_url_is_refused_without_repeating_what_may_be_a_secret(text):
    with pytest.raises(InputError) as refused:
        parse_place(text)
    assert "secret" not in str(refused.value)


def test_messages_call_each_folder_by_its_own_address():
    """The name of one folder is the beginning of that of another."""
    places = [parse_place(text) for text in ("s3://bucket/a", "s3://bucket/a/b", "s3://bucket/a/b-c")]
    copies = [address_of(place).working_copy for place in places]
    error = CdesearchError(" ".join(map(str, (*places, *copies))), "")
    names = "s3://bucket/a s3://bucket/a/b s3://bucket/a/b-c"
    assert error.cause == f"{names} {names}"
