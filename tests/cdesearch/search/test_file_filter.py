"""A search covers the files that its filter allows: of certain paths, types and times."""

import gzip
import os
import time
import zipfile
from datetime import UTC, datetime

import pytest
from built import write_files

import cdesearch
from cdesearch.errors import QueryError
from cdesearch.search.file_filter import OTHER_NAMES, TYPES, suffixes_of
from cdesearch.search.request import request_of
from cdesearch.search.text_time import time_of

DAY = 24 * 3600
AGES = {"a.md": 1, "b.PY": 3, "sub/c.py": 10, "sub/d's.md": 30, "e.txt": 400}  # days


@pytest.fixture(scope="module")
def opened(tmp_path_factory, tiny_checkpoint):
    docs = write_files(tmp_path_factory.mktemp("docs"), {name: f"the owl of {name[0]}" for name in AGES})
    for name, days in AGES.items():
        os.utime(docs / name, (time.time(), time.time() - days * DAY))
    with cdesearch.build(docs, model=tiny_checkpoint) as index:
        yield index._searcher


def found(opened, **options):
    request = request_of("owl", 99, "text", **options)
    hits = opened.search(request)
    assert opened.has_file(request) == bool(hits)
    return {one.chunk.path for hit in hits for one in (hit, *hit.copies)}


@pytest.mark.parametrize("days", [0.5, 2, 5, 20, 100, 1000])
def test_files_that_were_modified_since_a_time_are_searched(opened, days):
    expected = {name for name, age in AGES.items() if age < days}
    assert found(opened, since=f"@{int(time.time() - days * DAY)}") == expected


def test_a_year_and_a_month_begin_with_their_first_day():
    assert time_of("2026") == time_of("2026-01") == time_of("2026-01-01") and time_of("2026-11") == time_of(
        "2026-11-01"
    )
    with pytest.raises(QueryError, match="neither an age nor a date"):
        time_of("2026-13")


def test_paths_types_and_times_restrict_a_search_together(opened):
    assert found(opened) == set(AGES)
    assert found(opened, type=".py") == {"b.PY", "sub/c.py"}
    assert found(opened, type=(".py", ".txt"), path=("sub", "e.*")) == {"sub/c.py", "e.txt"}
    assert found(opened, type=".md", since="5d") == {"a.md"}
    assert found(opened, path=("{a,b,sub/{c,d}*}.*",)) == {"a.md", "b.PY", "sub/c.py", "sub/d's.md"}


def test_a_compressed_file_has_the_type_of_what_it_contains(tmp_path, tiny_checkpoint):
    (tmp_path / "a.py.gz").write_bytes(gzip.compress(b"owl = 1\n"))
    (tmp_path / "b.md").write_text("the owl")
    with cdesearch.build(tmp_path, model=tiny_checkpoint) as index:
        assert found(index._searcher, type=".py") == {"a.py.gz"}
        assert found(index._searcher, type=".gz") == {"a.py.gz"}


def test_a_file_in_an_archive_has_its_own_path_and_type_and_the_time_of_the_archive(tmp_path, tiny_checkpoint):
    file = tmp_path / "old.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("notes/a.md", "the owl")
        archive.writestr("b.py", "owl = 1")
    (tmp_path / "c.md").write_text("the owl")
    with cdesearch.build(tmp_path, model=tiny_checkpoint) as index:
        assert found(index._searcher, type=".md") == {"old.zip/notes/a.md", "c.md"}
        assert found(index._searcher, path="old.zip/notes") == {"old.zip/notes/a.md"}
    os.utime(file, (time.time(), time.time() - 30 * DAY))
    with cdesearch.build(tmp_path, model=tiny_checkpoint) as index:
        assert found(index._searcher, since="5d") == {"c.md"}
        assert index._searcher.index.manifest.n_documents == 3
    file.unlink()
    with cdesearch.build(tmp_path, model=tiny_checkpoint) as index:
        assert found(index._searcher) == {"c.md"}


def test_a_script_without_a_suffix_has_the_type_of_its_interpreter(tmp_path, tiny_checkpoint):
    lines = {
        "tidy": "#!/usr/bin/env python3",
        "sub/cook": "#!/usr/bin/python3.11 -O",
        "o'clock": "#! /usr/bin/env -S python3 -u",
        "wash": "#!/bin/sh",
        "pythonic": "#!/usr/bin/pythonic",
        "late": "owl = 1\n#!/usr/bin/python3",
        "text.md": "#!/usr/bin/python3",
    }
    write_files(tmp_path, {name: f"{line}\n" + "# the owl\n" * 300 for name, line in lines.items()})
    with cdesearch.build(tmp_path, model=tiny_checkpoint) as index:
        scripts = {"tidy", "sub/cook", "o'clock"}
        assert found(index._searcher, type=".py") == scripts
        assert found(index._searcher, type="sh") == {"wash"}
        assert found(index._searcher, type=["py", "md"], path="sub") == {"sub/cook"}
        assert found(index._searcher, type="ruby") == set()


def test_ages_and_dates_become_times():
    now = time.time()
    for text, seconds in (("30min", 1800), ("12h", DAY / 2), ("7d", 7 * DAY), ("2w", 14 * DAY)):
        assert abs(time_of(text) - (now - seconds)) < 5
    assert time_of("2026-11-01") == int(datetime(2026, 11, 1).timestamp())
    assert time_of("2026-11-01T12:00+00:00") == int(datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp())
    assert time_of("@17") == 17
    assert 0 <= now - time_of("today") < DAY + 3700 and 22 * 3600 < time_of("today") - time_of("yesterday") < 26 * 3600


@pytest.mark.parametrize("text", ["", "7", "d", "-1d", "7 d", "tomorrow", "2026-13-01", "999999w", "1e9d", "٣d"])
def test_other_texts_are_no_times(text):
    with pytest.raises(QueryError, match="neither an age nor a date"):
        time_of(text)


def test_an_unknown_type_is_reported_with_the_known_ones():
    assert suffixes_of(("py", "md", "py")) == ("py", "pyi", "markdown", "md", "mdx")
    with pytest.raises(QueryError, match=r"no file type pyt\. Did you mean py .*\? The types are asciidoc, .*, zig\."):
        suffixes_of(("pyt",))
    assert list(TYPES) == sorted(TYPES) and set(OTHER_NAMES.values()) <= TYPES.keys() - OTHER_NAMES.keys()
    assert suffixes_of(("python", "word")) == ("py", "pyi", "doc", "docx")


def test_the_names_and_the_suffixes_of_formats_are_types(tmp_path, tiny_checkpoint):
    assert suffixes_of(("rtf", "xlsx", "eml")) == ("rtf", "xlsx", "eml")
    assert "adoc" in suffixes_of(("asciidoc",)) and suffixes_of(("latex",)) == ("latex", "ltx", "tex")
    for name in ("cat.1", "tcl.3tcl.gz", "notes.md"):
        page = b".TH CAT 1\n.SH NAME\nthe owl\n"
        (tmp_path / name).write_bytes(gzip.compress(page) if name.endswith(".gz") else page)
    with cdesearch.build(tmp_path, model=tiny_checkpoint) as index:
        assert found(index._searcher, type="man") == {"cat.1", "tcl.3tcl.gz"}
