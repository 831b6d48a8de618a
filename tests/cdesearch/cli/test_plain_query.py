"""Parsing the arguments of a query without typer has the same result as parsing them with typer."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.main import get_command

from cdesearch.cli import main as cli
from cdesearch.cli import query
from cdesearch.cli.command_names import FLAGS, VALUED
from cdesearch.cli.plain_query import read_plain
from cdesearch.cli.query_options import QueryOptions

WORDS = ["cat", "a b", "", " ", "query", "=", "x=y", "漢字", "\udcff", "~", "--", "-", "-x", "--help", "*"]
NAMES = [*VALUED, *FLAGS, "--ful", "-kk", "--grou"]
VALUES = ["1", "10", "0", "01", "-1", "+1", "1_0", " 1", "1.0", "٣", "9" * 12, "51", "text", "dense", "Hybrid", "docs"]
VALUES += ["", "json", "grep", "py", "7d"]
JOINED = [f"{name}={value}" for name in NAMES for value in ("1", "text", "docs", "", "a=b")] + ["-k1", "-k=1", "-C3"]
ARGUMENTS = st.lists(st.sampled_from([*WORDS, *NAMES, *VALUES, *JOINED]), max_size=6)

COMMAND = get_command(cli.app)


def read_by_typer(arguments):
    """Return the options that typer passes to the command; None if typer reports an error or shows the help."""
    received = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(query, "run_query", lambda options, meant: received.append(options) or 0)
        try:
            COMMAND.main(["query", *arguments], prog_name="cdesearch", standalone_mode=False)
        except Exception:
            return None
    return received[0] if received else None


@settings(deadline=None)
@given(ARGUMENTS)
@example(["cat", "-k", "3", "--mode", "text", "--path", "docs", "--index", ".", "--full", "--json"])
@example(["--path=docs", "cat", "--index=x", "--mode=dense"])
@example(["cat", "--path", "--json"])
@example(["cat", "--full=1"])
@example(["cat", "-k", "3", "-k", "4"])
@example(["cat", "--", "-k"])
@example(["cat", "--json", "--format", "text"])
@example(["cat", "--group", "--no-group"])
@example(["cat", "--path", "a", "--path", "b", "--type", "py", "--type=md", "--since", "7d"])
@example(["cat", "-C", "3", "--open", "--no-pager", "--update", "--format", "jsonl"])
def test_arguments_that_are_read_without_typer_mean_what_typer_reads(arguments):
    plain = read_plain(arguments)
    assert plain is None or plain == read_by_typer(arguments)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["cat"], QueryOptions("cat")),
        (["the", "cat"], QueryOptions("the cat")),
        (["-k", "3", "cat"], QueryOptions("cat", k=3)),
        (["cat", "--json", "--mode", "text"], QueryOptions("cat", mode="text", format="json")),
        (["cat", "-C", "2", "--format", "grep"], QueryOptions("cat", context=2, format="grep")),
        (["cat", "--type", "py", "--type=md"], QueryOptions("cat", types=("py", "md"))),
        (["cat", "--no-group", "--no-pager"], QueryOptions("cat", group=False, has_pager=False)),
        (["cat", "--mode=dense", "--full"], QueryOptions("cat", mode="dense", full=True)),
        (["cat", "--path", "*.py", "--index", "x"], QueryOptions("cat", paths=("*.py",), indexes=(Path("x"),))),
        (["cat", "--index=x", "--index", "y"], QueryOptions("cat", indexes=(Path("x"), Path("y")))),
    ],
)
def test_common_arguments_are_read_without_typer(arguments, options):
    assert read_plain(arguments) == options == read_by_typer(arguments)


def test_the_options_that_may_precede_words_are_those_of_the_command():
    parameters = [one for one in COMMAND.commands["query"].params if one.param_type_name == "option"]
    valued = {name for one in parameters if not one.is_flag for name in one.opts}
    flags = {name for one in parameters if one.is_flag for name in (*one.opts, *one.secondary_opts)}
    assert (valued, flags) == (set(VALUED), set(FLAGS))


@pytest.mark.parametrize(
    "arguments",
    [[], ["-k3", "cat"], ["cat", "--model", "x"], ["cat", "-k", "0"], ["cat", "--", "x"], ["cat", "-k"], ["\udcff"]],
)
def test_typer_reads_rare_and_invalid_arguments(arguments):
    assert read_plain(arguments) is None
