"""A hit is opened in the editor of the user, at its line, without a shell."""

import sys
from pathlib import Path

import pytest

from cdesearch.cli.hits.opening import FILE, HitPlace, editor_command, open_place, remember, remembered, state_folder
from cdesearch.errors import InputError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are scripts")


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "cdesearch"


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """A function that makes a program, which records its arguments, and returns a function that reads them."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    (tmp_path / "programs").mkdir()

    def program(name):
        file, record = tmp_path / "programs" / name, tmp_path / f"{name}.record"
        file.write_text(f"#!{sys.executable}\nimport sys\nopen({str(record)!r}, 'w').write('|'.join(sys.argv[1:]))\n")
        file.chmod(0o755)
        return file, record

    return program


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "my docs; touch evil"
    folder.mkdir()
    for name in ("a.txt", "-x.md", "paper.pdf", "run.desktop"):
        (folder / name).write_text("text")
    return folder


@pytest.mark.parametrize(
    ("editor", "expected"),
    [
        (["vim"], ["vim", "+7", "/a b"]),
        (["emacsclient", "-t"], ["emacsclient", "-t", "+7", "/a b"]),
        (["code", "--wait"], ["code", "--wait", "--goto", "/a b:7"]),
        (["Code.exe"], ["Code.exe", "--goto", "/a b:7"]),
        (["hx"], ["hx", "/a b:7"]),
        (["subl", "-w"], ["subl", "-w", "/a b:7"]),
        (["pycharm"], ["pycharm", "--line", "7", "/a b"]),
        (["notepad++.exe"], ["notepad++.exe", "-n7", "/a b"]),
        (["unknown"], ["unknown", "/a b"]),
    ],
)
def test_each_editor_gets_the_line_in_its_own_form(editor, expected):
    assert editor_command(editor, Path("/a b"), 7) == expected
    assert editor_command(editor, Path("/a b"), None) == [*editor, "/a b"]


def test_visual_comes_before_editor_and_no_shell_reads_the_path(opened, docs, monkeypatch, tmp_path):
    (vim, record), (nano, other) = opened("vim"), opened("nano")
    monkeypatch.setenv("VISUAL", f"'{vim}' --clean")
    monkeypatch.setenv("EDITOR", str(nano))
    open_place(HitPlace(str(docs), "-x.md", 3))
    assert record.read_text() == f"--clean|+3|{docs / '-x.md'}" and not other.exists()
    monkeypatch.setenv("VISUAL", " ")
    open_place(HitPlace(str(docs), "a.txt"))
    assert other.read_text() == str(docs / "a.txt")
    assert not (tmp_path / "evil").exists() and not Path("evil").exists()


def test_the_program_of_the_system_opens_what_an_editor_cannot_show(opened, docs, monkeypatch, tmp_path):
    name = "open" if sys.platform == "darwin" else "xdg-open"
    _, record = opened(name)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    monkeypatch.setenv("EDITOR", "/nowhere/vim")
    open_place(HitPlace(str(docs), "paper.pdf"))
    assert record.read_text() == str(docs / "paper.pdf")
    (tmp_path / "programs" / name).write_text("#!/bin/false\n")
    with pytest.raises(InputError, match="found no program for"):
        open_place(HitPlace(str(docs), "paper.pdf"))
    with pytest.raises(InputError, match="cannot be started"):
        open_place(HitPlace(str(docs), "a.txt"))


def test_a_program_is_not_started_by_the_system(docs, opened):
    with pytest.raises(InputError, match="is a program"):
        open_place(HitPlace(str(docs), "run.desktop"))
    (docs / "a.txt").chmod(0o755)
    with pytest.raises(InputError, match="is a program"):
        open_place(HitPlace(str(docs), "a.txt"))


def test_a_file_outside_of_the_indexed_folder_is_not_opened(docs, tmp_path, monkeypatch):
    monkeypatch.setenv("EDITOR", "true")
    (tmp_path / "secret.txt").write_text("x")
    (docs / "link.txt").symlink_to(tmp_path / "secret.txt")
    for name in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt"):
        with pytest.raises(InputError, match="outside of the indexed folder"):
            open_place(HitPlace(str(docs), name))
    for name in ("nothing.txt", "a" * 5_000):
        with pytest.raises(InputError, match="no longer exists"):
            open_place(HitPlace(str(docs), name))


def test_a_file_in_an_archive_is_not_opened_and_the_archive_is_named(docs):
    (docs / "backup.zip").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"^notes/a\.md is in the archive .*backup\.zip\."):
        open_place(HitPlace(str(docs), "backup.zip/notes/a.md"))


def test_the_last_hits_are_remembered_in_a_private_file(state):
    places = [HitPlace("/docs", "a.md", 3), HitPlace("/docs", "b.pdf")]
    remember(places)
    assert [remembered(n) for n in (1, 2)] == places and state_folder() == state
    assert (state / FILE).stat().st_mode & 0o777 == 0o600 and state.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in state.iterdir()] == [FILE]
    with pytest.raises(InputError, match=r"on a terminal has no hit 3\. Its hits have the numbers 1 to 2"):
        remembered(3)


@pytest.mark.parametrize("content", ["", "[1]", '[{"path": "a"}]', "[" * 100_000])
def test_a_damaged_file_of_hits_is_reported_as_missing(state, content):
    remember([HitPlace("/docs", "a.md")])
    (state / FILE).write_text(content)
    with pytest.raises(InputError, match="No hits of an earlier query"):
        remembered(1)


def test_a_folder_that_others_can_enter_is_not_used(state):
    remember([HitPlace("/docs", "a.md")])
    state.chmod(0o755)
    remember([HitPlace("/docs", "b.md")])
    with pytest.raises(InputError, match="No hits of an earlier query"):
        remembered(1)
    state.chmod(0o700)
    assert remembered(1).path == "a.md"
