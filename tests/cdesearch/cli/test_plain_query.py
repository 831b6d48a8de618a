"""Parsing the arguments of a query without typer has the same result as parsing them with typer."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.main import get_command

from cdesearch.cli import main as cli
from cdesearch.cli import query
from cdesearch.cli.query_options import QueryOptions
from cdesearch.cli.start import read_plain
from cdesearch.errors import CdesearchError
from cdesearch.search.options import FLAGS, VALUED
from cdesearch.search.request import SearchRequest

WORDS = ["cat", "a b", "", " ", "query", "=", "x=y", "漢字", "\udcff", "~", "--", "-", "-x", "--help", "*"]
NAMES = [*VALUED, *FLAGS, "--ful", "-kk", "--grou"]
VALUES = ["1", "10", "0", "01", "-1", "+1", "1_0", " 1", "1.0", "٣", "9" * 12, "51", "text", "dense", "Hybrid", "docs"]
VALUES += ["", "json", "grep", "py", "7d"]
JOINED = [f"{name}={value}" for name in NAMES for value in ("1", "text", "docs", "", "a=b")] + ["-k1", "-k=1", "-C3"]
ARGUMENTS = st.lists(st.sampled_from([*WORDS, *NAMES, *VALUES, *JOINED]), max_size=6)

COMMAND = get_command(cli.app)


def read_by_typer(arguments):
    """Return the options that typer passes to the command, or the error; None if typer cannot read them."""
    received = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(query, "run_query", lambda options, meant: received.append(options) or 0)
        try:
            COMMAND.main(["query", *arguments], prog_name="cdesearch", standalone_mode=False)
        except CdesearchError as error:
            return str(error)
        except Exception:
            return None
    return received[0] if received else None


def read(arguments):
    try:
        return read_plain(arguments)
    except CdesearchError as error:
        return str(error)


@settings(deadline=None)
@given(ARGUMENTS)
@example(["cat", "-k", "3", "--mode", "text", "--path", "docs", "--index", ".", "--full", "--json"])
@example(["--path=docs", "cat", "--index=x", "--mode=dense"])
@example(["cat", "--path", "--json"])
@example(["cat", "--full=1"])
@example(["cat", "-k", "3", "-k", "4"])
@example(["cat", "--", "-k"])
@example(["cat", "--json", "--format", "text"])
@example(["cat", "--json", "--mode", "text"])
@example(["cat", "--group", "--no-group"])
@example(["cat", "--path", "a", "--path", "b", "--type", "py", "--type=md", "--since", "7d"])
@example(["cat", "-C", "3", "--open", "--no-pager", "--update", "--format", "jsonl"])
def test_arguments_that_are_read_without_typer_mean_what_typer_reads(arguments):
    plain = read(arguments)
    assert plain is None or plain == read_by_typer(arguments)


def options(*, index=(), **fields):
    shown = {name: fields.pop(name) for name in ("full", "format", "context", "group", "no_pager") if name in fields}
    return QueryOptions(SearchRequest("cat", is_typed=True, **fields), index, **shown)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["cat"], options()),
        (["-k", "3", "cat"], options(k=3)),
        (["cat", "--json", "--mode", "text"], options(mode="text", format="json")),
        (["cat", "-C", "2", "--format", "grep"], options(context=2, format="grep")),
        (["cat", "--type", "py", "--type=md"], options(type=("py", "md"))),
        (["cat", "--no-group", "--no-pager"], options(group=False, no_pager=True)),
        (["cat", "--path", "*.py", "--index", "x"], options(path=("*.py",), index=(Path("x"),))),
        (["cat", "--index=x", "--index", "y", "--full"], options(index=(Path("x"), Path("y")), full=True)),
    ],
)
def test_common_arguments_are_read_without_typer(arguments, expected):
    assert read_plain(arguments) == expected == read_by_typer(arguments)
