"""Which index a query searches, and how much of it: that of a folder above, or the user's list of indexes."""

import json
import shutil

import pytest
from built import write_files
from command import cdesearch

from cdesearch.cli.hits.opening import state_folder
from cdesearch.store.copies import user_cache
from cdesearch.store.trust import trust_file
from cdesearch.store.used import default_places, used_places

TEXTS = {
    "guides/[a] b/owl.md": "The owl hoots at night.",
    "password.md": "Reset the password by mail.",
    "void/x.png": "",
}


@pytest.fixture
def notes(index_of, tmp_path):
    """An index that a test may change, with two folders, of which one has no text."""
    return shutil.copytree(index_of(TEXTS), tmp_path / "notes")


@pytest.fixture
def listed(notes, index_of, tmp_path, own_config):
    """The list of two indexes, and an empty folder without an index."""
    mail = shutil.copytree(index_of({"a.md": "The invoice of the violin."}), tmp_path / "mail")
    (tmp_path / "away").mkdir()
    cdesearch("indexes", "add", notes, mail, notes, cwd=tmp_path)
    return tmp_path / "away"


def found(*arguments, cwd, code=0):
    run = cdesearch("query", *arguments, "--json", cwd=cwd, code=code)
    return [hit["path"] for hit in json.loads(run.stdout)["hits"]], run.stderr


def test_a_folder_below_that_of_the_index_is_searched_alone(notes):
    owl, guides = "guides/[a] b/owl.md", notes / "guides"
    for below in (guides, guides / "[a] b"):
        assert found("owl", "-k", "3", cwd=below) == ([owl], "")
    paths, line = found("reset the password", cwd=guides)
    assert (paths, line) == ([owl], f"Only guides/ was searched. The rest of {notes} has better hits: add --all.\n")
    for whole in (["--all"], ["--path", "*.md"], ["--index", notes]):
        assert found("reset the password", "-k", "1", *whole, cwd=guides) == (["password.md"], "")
    assert found("reset path:password.md", "-k", "1", cwd=guides) == (["password.md"], "")
    assert found("reset the password", "-k", "1", cwd=notes) == (["password.md"], "")


def test_a_folder_without_texts_names_the_rest_of_the_index_if_that_has_hits(notes):
    paths, line = found("owl", cwd=notes / "void", code=1)
    assert (paths, line) == ([], f"Only void/ was searched. The rest of {notes} has hits: add --all.\n")
    assert found("xylophone", "--mode", "text", cwd=notes / "void", code=1) == ([], "")
    asked = cdesearch("ask", "how is the password reset", cwd=notes / "void", code=1)
    assert asked.stderr == f"Only {notes / 'void'} was searched: --all asks the whole index.\n"
    assert "Reset" in cdesearch("ask", "how is the password reset", "--all", cwd=notes / "void").stdout


def test_a_folder_that_was_added_to_an_index_does_not_hide_it_from_its_own_folder(notes, tmp_path):
    write_files(tmp_path / "elsewhere", {"far.md": "The far owl hoots."})
    cdesearch("sources", "add", tmp_path / "elsewhere", cwd=notes)
    assert sorted(found("owl", "--mode", "text", cwd=notes)[0]) == ["elsewhere/far.md", "notes/guides/[a] b/owl.md"]
    assert found("owl", "--mode", "text", cwd=notes / "guides")[0] == ["notes/guides/[a] b/owl.md"]


def test_an_empty_list_says_how_to_add_an_index(tmp_path):
    assert "`cdesearch indexes add PATH` adds one" in cdesearch("indexes", cwd=tmp_path).stdout


def test_the_list_is_searched_together_where_no_index_is_nearer(listed, notes):
    assert cdesearch("indexes", cwd=listed).stdout.splitlines()[0] == f"{notes / '.cdesearch'}  (2 documents)"
    paths, _ = found("the invoice, the owl and the password", cwd=listed)
    assert set(paths) == {"a.md", "password.md", "guides/[a] b/owl.md"}
    assert found("invoice", "--mode", "text", cwd=notes, code=1)[0] == []
    assert default_places() == used_places() and len(used_places()) == 2
    (listed / "own.md").write_text("My own invoice.")
    cdesearch("invoice", "--yes", cwd=listed)
    assert found("invoice", "--mode", "text", cwd=listed)[0] == ["own.md"]


def test_an_index_of_the_list_that_is_gone_ends_the_query_until_it_is_removed(listed):
    gone = listed.parent / "mail"
    shutil.rmtree(gone)
    error = cdesearch("invoice", cwd=listed, code=2).stderr
    assert f"There is no index in {gone}." in error and "run `cdesearch indexes remove PATH`" in error
    assert f"There is no index in {gone}." in cdesearch("indexes", cwd=listed).stdout
    assert "is not in your list" in cdesearch("indexes", "remove", "typo", cwd=listed, code=2).stderr
    cdesearch("indexes", "remove", gone, cwd=listed)
    assert found("owl", "-k", "1", cwd=listed)[0] == ["guides/[a] b/owl.md"]


@pytest.mark.parametrize("arguments", [["add"], ["remove"], ["list", "."], ["add", "typo"]])
def test_arguments_of_the_list_that_have_no_meaning_are_refused(listed, arguments):
    cdesearch("indexes", *arguments, cwd=listed, code=2)
    assert len(used_places()) == 2


def test_everything_is_forgotten_except_the_files_and_the_settings(listed, notes, tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "away" / name))
    for folder in (user_cache(), state_folder()):
        (folder / "models").mkdir(parents=True)
    (trust_file().parent / "config.toml").write_text("[query]\nk = 3\n")
    cdesearch("trust", notes, "--yes", cwd=listed)
    shutil.rmtree(tmp_path / "mail")
    moved = [tmp_path / "queried", tmp_path / "updated"]
    for folder, command in zip(moved, (["query", "list"], ["index", "."]), strict=True):
        made = write_files(tmp_path / "made", {"a.md": "It is in no list."})
        cdesearch("index", ".", cwd=made)
        cdesearch(*command, cwd=made.rename(folder))
    assert "--yes" in cdesearch("clear", "--everything", cwd=listed, code=2).stderr
    cdesearch("clear", notes, "--everything", cwd=listed, code=2)
    assert (notes / ".cdesearch").exists() and used_places()
    cdesearch("clear", "--everything", "--yes", cwd=listed)
    assert [one.name for folder in moved for one in folder.iterdir()] == ["a.md", "a.md"]
    assert not (notes / ".cdesearch").exists() and (notes / "password.md").exists() and not used_places()
    assert [one.name for one in trust_file().parent.iterdir()] == ["config.toml"]
    assert not user_cache().exists() and not state_folder().exists()
    cdesearch("clear", "--everything", "--yes", cwd=listed)
