"""A search is filtered by the fields of texts: how conditions are written, what they mean, and the time of a text."""

import json
import os

import pytest
from command import cdesearch as command

import cdesearch
from cdesearch.errors import NotIndexedError, QueryError
from cdesearch.search.field_filter import conditions_of

NOTES = {
    "a.md": "status: Open\ntags: [infra, web/api]\ndate: 2026-01-15\nprice: 9.50",
    "b.md": "status: closed\ntags: infra-ops\ndate: 2026-03-01T10:00\nprice: 10",
    "c.md": "status: on hold\nauthor: Ann O'Lee\ndate: 2025-12-31",
    "d.md": "tag: infra\nstate: final",
}
OLD = 1_700_000_000  # 2023, when d.md was modified


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_checkpoint):
    docs = tmp_path_factory.mktemp("docs")
    for name, matter in NOTES.items():
        (docs / name).write_text(f"---\n{matter}\n---\nthe owl of {name[0]}\n")
    (docs / "e.csv").write_text(
        "text,status,amount,build,us,eu,ts,month\nan owl,open,-3,1.10,01/31/2026,31/01/2026,20260131,2026-03\n"
        "another owl,paid,200,1.1,02/01/2025 5:00 PM,01/02/2025,1738400000,2025-04\n"
    )
    os.utime(docs / "d.md", (OLD, OLD))
    cdesearch.build(docs, model=tiny_checkpoint).close()
    return docs


@pytest.fixture(scope="module")
def index(folder):
    with cdesearch.open(folder) as opened:
        yield opened


def found(index, **options):
    hits = index.search("owl", k=20, mode="text", **options)
    return {one.chunk.record or one.chunk.path[0] for hit in hits for one in (hit, *hit.copies)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("status=open", "a1"), ("status==open&&amount<0", "1"), ("status=open && tags:infra", "a"), ("date>=1d", ""),
        ("us<2025-03-01", "2"), ("eu=2025-02", "2"), ("us>2025", "1"), ("ts>=2026-01-01", "1"), ("ts<2026-01", "2"),
        ("ts>5", "12"), ("month>=2026-01-01", "1"), ("month<today", "12"),
        ("status = OPEN and tags:infra", "a"), ("status!=open", "bcd2"),
        ('status="on hold"', "c"), ("status:hold", "c"), ("tag:infra", "abd"), ("tag=infra", "ad"), ("tags:api", "a"),
        ("author:o'lee", "c"), ("date>=2026-01-15", "ab"), ("date>2026-01-15 AND date<2027", "b"),
        ("date>=2026-01-15T12:00", "ab"), ("date='2026-01-15 08:05:00+02:00'", "a"),
        ("date<=2025", "c"), ("date=2026-01", "a"), ("price<10", "a"), ("price=10.0", "b"), ("price>=9.5", "ab"),
        ("amount<0", "1"), ("status>5", ""), ("build=1.10", "1"), ("build=1.1", "2"), ("build!=1.10", "abcd2"),
    ],
)  # fmt: skip
def test_conditions_choose_the_texts_whose_fields_are_such(index, text, names):
    assert found(index, filter=text) == set(names)


@pytest.mark.parametrize(
    ("condition", "value", "is_true"),
    [
        ("a>1000", "$1,250.00", True), ("a>1000", "1.250,00", True), ("a>1000", "1.250 €", True),
        ("a>1000", "1.250", False), ("a=1250.5", "1'250,50 EUR", True),
        ("a>10", "45%", True), ("a<0", "-€3,50", True), ("a=-5", "(5.00)", True), ("a>$1,000", "999", False),
        ("a=1.25", "1,250", False), ("a=0.5", "0,500", True), ("a>0", "1.2.3", False), ("a>0", "030 9018", False),
        ("a=01234", "1234", False), ("a=1234", "01234", False), ("a=1e5", "100000", False), ("a=5", "5.0", True),
        ("a=1790000000000000001", "1790000000000000002", False),
    ],
)  # fmt: skip
def test_amounts_are_numbers_and_identifiers_are_equal_as_they_are_written(condition, value, is_true):
    (one,) = conditions_of(condition)
    assert one.holds(value) is is_true


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"since": "2026-02-01"}, "b12"), ({"before": "2026-01-15"}, "cd"),
        ({"since": "2025-12-31", "before": "2026-03-01"}, "ac"),
        ({"before": "2026-01-15", "filter": "status!=open"}, "cd"), ({"since": "2024-01-01", "type": "md"}, "abc"),
        ({"since": "@-999999999999", "before": "@999999999999"}, "abcd12"),
    ],
)  # fmt: skip
def test_the_time_of_a_text_is_its_date_or_else_that_of_its_file(index, options, names):
    assert found(index, **options) == set(names)


@pytest.mark.parametrize(
    "text",
    ["", "status", "=open", "a===b", "date>2026-13-45", "date<2026-02-32", "date>@999999999999",
     "a=", "a=b c=d", "a=b and", "and", "a=b or c=d", "a='b", "a>=b", "a=1 and " * 20 + "a=1"],
)  # fmt: skip
def test_a_filter_that_cannot_be_read_is_an_error(index, text):
    with pytest.raises(QueryError, match=r"condition|neither a date nor a number"):
        found(index, filter=text)


def test_an_unknown_field_is_named_with_those_that_are_near_and_may_be_in_another_index(
    folder, index, tmp_path, tiny_checkpoint
):
    with pytest.raises(NotIndexedError, match=r"no field statos\. There is status, state, tags;"):
        found(index, filter="statos=open")
    (tmp_path / "f.md").write_text("the owl without fields")
    with (
        cdesearch.build(tmp_path, model=tiny_checkpoint) as other,
        pytest.raises(NotIndexedError, match="None of its files has fields"),
    ):
        found(other, filter="status=open")
    with cdesearch.open([folder, tmp_path]) as both:
        assert found(both, filter="status=open") == set("a1")
        with pytest.raises(NotIndexedError):
            found(both, filter="statos=open")


def test_the_fields_of_a_chunk_are_readable_as_words_that_its_text_lacks(index):
    (hit,) = index.search("owl", mode="text", filter="author:ann")
    assert hit.chunk.fields == (("status", "on hold"), ("author", "Ann O'Lee"), ("date", "2025-12-31"))
    assert hit.chunk.fields_text == "status on hold date 2025-12-31"


def test_an_update_changes_the_fields_of_a_text_that_stays_the_same(tmp_path, tiny_checkpoint):
    for status in ("open", "closed", "open"):
        (tmp_path / "a.md").write_text(f"---\nstatus: {status}\n---\nthe owl\n")
        (tmp_path / f"{len(list(tmp_path.iterdir()))}.md").write_text("---\nstatus: other\n---\nan owl\n")
        with cdesearch.build(tmp_path, model=tiny_checkpoint) as index:
            assert found(index, filter=f"status={status}") == {"a"}


def test_the_part_of_a_long_row_that_is_listed_has_the_field_of_the_filter(tmp_path, tiny_checkpoint):
    (tmp_path / "a.csv").write_text(f"note,price\n{'long' * 120},-412\n{'long' * 120},7\n")
    cdesearch.build(tmp_path, model=tiny_checkpoint).close()
    assert "price: -412" in command("query", "", "--filter", "price<0", cwd=tmp_path).stdout


def test_the_command_line_filters_lists_fields_and_reports_errors(folder):
    run = command("query", "owl", "--filter", "status=open and tag:infra", "--json", cwd=folder)
    (hit,) = json.loads(run.stdout)["hits"]
    assert hit["fields"]["tags"] == ["infra", "web/api"]
    assert "c.md" in command("query", "owl", "--before", "2026-01-01", "--type", "md", cwd=folder).stdout
    for text in ("status", "statos=open"):
        run = command("query", "owl", "--filter", text, cwd=folder, code=2)
        assert run.stdout == "" and run.stderr.count("\n") == 1
    assert (
        "no indexed file matches --filter status=none"
        in command("query", "owl", "--filter", "status=none", cwd=folder, code=1).stderr.lower()
    )
    assert "price   number  2       10, 9.50" in command("status", "--fields", cwd=folder).stdout
    listed = {
        one["name"]: one for one in json.loads(command("status", "--fields", "--json", cwd=folder).stdout)["fields"]
    }
    assert listed["date"]["type"] == "date" and listed["status"]["values"] == 5
