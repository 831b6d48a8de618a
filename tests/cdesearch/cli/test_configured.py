"""Configuration files: where they are found, what they may set, and in which order they count."""

import json
import os

import pytest
from command import cdesearch

from cdesearch.child_process import same_modules
from cdesearch.cli.config import _commands, _rows
from cdesearch.cli.config_files import _tell_of_foreign, config_files
from cdesearch.cli.configured import options_of, with_configuration
from cdesearch.cli.main import app
from cdesearch.errors import InputError

PAGES = {"cats.md": "# Cats\n\nA cat purrs.", "dogs.md": "# Dogs\n\nA cat and a dog.", "moon.txt": "The cat, the moon."}


@pytest.fixture(scope="module")
def indexed(index_of):
    folder = index_of(PAGES)
    (folder / "sub").mkdir()
    return folder


@pytest.fixture
def project(indexed):
    """Writes the project's file."""
    file = indexed / ".cdesearch.toml"
    yield file.write_text
    file.unlink(missing_ok=True)


@pytest.fixture
def user(own_config):
    """Writes the user's file."""
    return (own_config / "config.toml").write_text


def n_hits(indexed, *arguments):
    run = cdesearch("query", "cat", "--json", "--all", "--mode", "text", *arguments, cwd=indexed)
    return len(json.loads(run.stdout)["hits"])


@pytest.fixture
def error(indexed, monkeypatch):
    """Returns the error of a command in the indexed folder before it runs."""

    def of(*arguments):
        monkeypatch.chdir(indexed)
        _commands()  # registers those of other packages
        with pytest.raises(InputError) as raised:
            list(_rows(config_files())) if arguments[0] == "config" else with_configuration(app, arguments)
        return str(raised.value)

    return of


def shown(folder, *arguments):
    report = json.loads(cdesearch("config", "--json", *arguments, cwd=folder).stdout)
    return {(row["command"], row["option"]): (row["value"], row["source"]) for row in report["options"]}


def test_the_command_line_has_priority_over_the_project_and_the_project_over_the_user(indexed, project, user):
    user("[query]\nk = 1\nfull = true\n")
    assert n_hits(indexed) == 1
    project("[query]\nk = 2\n")
    assert n_hits(indexed) == n_hits(indexed / "sub") == 2
    assert n_hits(indexed, "-k", "3") == 3
    values = shown(indexed)
    assert values["query", "k"] == (2, str(indexed / ".cdesearch.toml"))
    assert values["query", "full"][0] is True and values["query", "full"][1].endswith("config.toml")
    assert len(values) == 2


def test_an_option_of_the_command_line_replaces_the_other_form_of_the_same_option(indexed, project, user):
    user("[query]\njson = true\n")
    project('[query]\nmode = "text"\n')
    assert cdesearch("query", "--format", "grep", "cat", cwd=indexed).stdout.startswith("cats.md:1:")
    project('[query]\nmode = "text"\nformat = "grep"\n')
    assert cdesearch("query", "cat", cwd=indexed).stdout.startswith("cats.md:1:")
    assert json.loads(cdesearch("query", "--json", "cat", cwd=indexed).stdout)["mode"] == "text"


def test_a_flag_of_a_file_can_be_revoked(indexed, project):
    project("[query]\njson = true\n")
    assert cdesearch("query", "cat", cwd=indexed).stdout.startswith("{")
    assert cdesearch("query", "cat", "--no-json", cwd=indexed).stdout.startswith(" 1 ")
    project("")
    assert cdesearch("query", "cat", "--no-json", cwd=indexed).stdout.startswith(" 1 ")
    assert "--no-such" in cdesearch("query", "cat", "--no-such", cwd=indexed, code=2).stderr
    assert cdesearch("query", "cat", "--", "--no-json", cwd=indexed).stdout.startswith(" 1 ")


def test_repeatable_options_take_lists_and_single_values(indexed, project):
    for value, expected in (('"*.md"', 2), ('["moon.txt", "cats.md"]', 2), ('["moon.txt"]', 1)):
        project(f"[query]\npath = {value}\n")
        assert n_hits(indexed) == expected
    assert n_hits(indexed, "--path", "*.md") == 2, "the command line replaces the list"


def test_environment_variables_have_priority_over_files(indexed, user, monkeypatch):
    user('[serve]\ntoken = "the-token-of-the-file"\n[ask]\nllm = "http://127.0.0.1:9/v1"\nllm-model = "m"\n')
    assert shown(indexed)["serve", "token"][0] == "(hidden)"
    monkeypatch.setenv("CDESEARCH_TOKEN", "the-token-of-the-environment")
    monkeypatch.setenv("CDESEARCH_LLM_URL", "http://127.0.0.1:10/v1")
    values = shown(indexed)
    assert values["serve", "token"] == ("(hidden)", "$CDESEARCH_TOKEN")
    assert values["ask", "llm"] == ("http://127.0.0.1:10/v1", "$CDESEARCH_LLM_URL")
    assert "127.0.0.1:10" in cdesearch("ask", "cat", cwd=indexed, code=2).stderr


def test_every_option_of_every_command_can_be_set_and_is_shown(indexed):
    rows = json.loads(cdesearch("config", "--all", "--json", cwd=indexed).stdout)["options"]
    declared = {(name, key) for name, command in _commands().items() for key in options_of(command)}
    assert {(row["command"], row["option"]) for row in rows} == declared
    assert {("index", "max-file-size"), ("query", "k"), ("serve", "host"), ("train", "set")} <= declared
    assert not {key for _, key in declared} & {"help", "version"}
    assert {row["source"] for row in rows} == {"default"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[query]\nmodus = 3\n", "which is not an option of `cdesearch query` (did you mean mode?)"),
        ("[qurey]\nk = 3\n", "has a section [qurey], and there is no such command (did you mean query?)"),
        ("k = 3\n", "sets k outside a section"),
        ("[query]\nk = 0\n", "k in [query] is not accepted: Invalid value for '-k': Input should be greater"),
        ("[query]\nk = true\n", "k in [query] must be a text or a number"),
        ("[query]\nk = [3]\n", "k in [query] takes one value, not a list"),
        ("[query]\nfull = 1\n", "full in [query] must be true or false"),
        ('[query]\nsince = ""\n', "since in [query] must not be empty"),
        ('[query]\nmode = "best"\n', "mode in [query] is not accepted"),
        ("a = " + "[" * 5_000, "is not valid TOML"),
        ("#" * 70_000, "cannot be read (it has more than 64,000 bytes)"),
    ],
)
@pytest.mark.parametrize("command", [["query", "cat"], ["config"]])
def test_a_mistake_in_a_file_is_one_line(error, project, text, message, command):
    project(text)
    line = error(*command)
    assert message in line and "\n" not in line and ".cdesearch.toml" in line


def test_a_mistake_ends_a_command_with_one_line_and_code_2(indexed, project):
    project("[query]\nk = 0\n")
    (line,) = cdesearch("query", "cat", cwd=indexed, code=2).stderr.splitlines()
    assert line.startswith("error: ") and line.endswith("See `cdesearch query --help`.")


def test_a_mistake_in_the_section_of_another_command_does_not_stop_a_command(indexed, project, error):
    project("[serve]\nport = 70_000\n")
    assert n_hits(indexed) == 3
    assert "port in [serve] is not accepted: Invalid value for '--port': Input should be less" in error("config")


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("query", 'model = "./model"'),
        ("query", "open = true"),
        ("index", 'model = "jxm/cde-small-v2"'),
        ("serve", 'host = "0.0.0.0"'),
        ("serve", 'token = "0123456789abcdef"'),
        ("ask", 'llm = "http://example.org/v1"'),
        ("trust", "yes = true"),
        ("clear", "yes = true"),
        ("train", "set = [\"run.out='/tmp/x'\"]"),
    ],
)
def test_a_project_must_not_set_what_would_be_dangerous(error, project, section, line):
    project(f"[{section}]\n{line}\n")
    message = error("config")
    assert f"in [{section}], which the file of a project must not do" in message
    assert "Set the option in your own file" in message
    assert "must not do" in error(section, *(["cat"] if section in ("query", "ask", "train") else []))


def test_the_help_works_with_a_broken_file(indexed, project):
    project("[")
    assert "Usage" in cdesearch("--help", cwd=indexed).stdout and cdesearch("--version", cwd=indexed).stdout


def test_the_index_of_a_project_is_inside_its_folder(indexed, project, user, error):
    project('[query]\nindex = "."\n')
    assert n_hits(indexed / "sub") == 3
    for outside in ("..", "/tmp", "~/x", "sub/../../y", "s3://bucket/docs", "file:///tmp"):
        project(f'[query]\nindex = "{outside}"\n')
        assert "index in [query] must be inside the folder of this file" in error("query", "cat")
    (indexed / "link").symlink_to(indexed.parent)
    try:
        project('[query]\nindex = "link/x"\n')
        assert "must be inside the folder" in error("query", "cat")
    finally:
        (indexed / "link").unlink()
    project("")
    user(f'[query]\nindex = "{indexed.as_posix()}"\n')
    assert n_hits(indexed.parent) == 3


def test_a_project_file_that_is_a_link_or_a_pipe_is_refused(indexed, tmp_path, project, error):
    target = tmp_path / "secret.toml"
    target.write_text("[query]\nk = 1\n")
    file = indexed / ".cdesearch.toml"
    file.symlink_to(target)
    assert "cannot be read (it is a symbolic link)" in error("query", "cat")
    file.unlink()
    os.mkfifo(file)
    assert "cannot be read (it is not a plain file)" in error("query", "cat")


def test_the_configuration_file_of_the_user_may_be_a_link(indexed, own_config, tmp_path):
    (tmp_path / "dotfiles.toml").write_text("[query]\nk = 1\n")
    (own_config / "config.toml").symlink_to(tmp_path / "dotfiles.toml")
    assert n_hits(indexed) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_of_another_user_is_not_used_and_is_reported(indexed, project, what):
    _tell_of_foreign.cache_clear()  # a process prints each message once
    project("[query]\nk = 1\n")
    given = indexed / ".cdesearch.toml" if what == "file" else indexed
    os.chown(given, 12345, 12345)
    try:
        run = cdesearch("query", "cat", "--mode", "text", "--json", "--all", cwd=indexed / "sub")
    finally:
        os.chown(given, 0, 0)
    assert len(json.loads(run.stdout)["hits"]) == 3
    assert run.stderr == f"{indexed / '.cdesearch.toml'} or its folder belongs to another user, so it is not used.\n"


def test_the_search_ends_at_the_home_folder(indexed, project, monkeypatch):
    project("[query]\nk = 1\n")
    (indexed / "sub" / "deep").mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(indexed / "sub"))
    assert n_hits(indexed / "sub" / "deep") == n_hits(indexed / "sub") == 3
    monkeypatch.setenv("HOME", str(indexed))
    assert n_hits(indexed / "sub" / "deep") == 1


def test_processes_that_commands_start_read_no_configuration(indexed, project, monkeypatch):
    project("[query]\nk = 1\n")
    assert same_modules()["CDESEARCH_NO_CONFIG"] == "1"
    monkeypatch.setenv("CDESEARCH_NO_CONFIG", "1")
    assert n_hits(indexed) == 3
