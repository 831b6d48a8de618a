"""On a terminal, hits are grouped, fitted to its size, and shown through a pager if they are longer."""

import json
import os
import re
import select
import signal
import struct
import sys
import time
from random import Random

import pytest
from command import cdesearch
from rich.cells import cell_len

from cdesearch.cli.hits.opening import remembered
from cdesearch.cli.hits.terminal import excerpt, fitted
from cdesearch.cli.kept_server import ANSWER

WORDS = ["ash", "barn", "cloud", "door", "earth", "field", "gate", "hill", "iron", "jar", "kite", "lamp", "mill"]
PROSE = " ".join(f"word{n}" for n in range(200)) + " the owl hoots " + " ".join(f"end{n}" for n in range(200))


@pytest.mark.parametrize("cells", [20, 41, 77, 300])
@pytest.mark.parametrize("text", [PROSE, "x" * 1000, "漢字" * 300, "漢字 owl " * 100, "short"])
def test_a_cut_line_has_its_width_and_a_mark_at_each_cut(text, cells):
    for shown in (fitted(text, cells), excerpt(text, ["owl"], cells)):
        assert cell_len(shown) <= cells
        assert shown == text or shown.endswith(" …")
    assert "owl" not in text or "owl" in excerpt(text, ["owl"], cells)
    assert fitted(text, cells).startswith(text[:5])


def words(*seed):
    return " ".join(Random(str(seed)).choices(WORDS, k=130))


def script(file, code):
    """Write a program in Python for tests to start."""
    file.write_text(f"#!{sys.executable}\nimport sys\n{code}\n")
    file.chmod(0o755)
    return file


@pytest.fixture(scope="module")
def docs(index_of):
    part = "# Part {1}\n\n{0} The owl hoots.\n"
    texts = {f"{n}.md": "\n".join(part.format(words(n, number), number) for number in range(4)) for n in range(8)}
    return index_of(texts | {"copy.md": texts["0.md"]})


@pytest.fixture
def on_terminal(docs, own_config, tmp_path, monkeypatch):
    """Run `cdesearch` on a pseudo-terminal of a size, and return what it prints."""
    if sys.platform == "win32":
        pytest.skip("there are no pseudo-terminals")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (own_config / ANSWER).write_text("no")  # so that no query asks a question
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("PAGER", "LESS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, columns=120, rows=45):
        import fcntl
        import pty
        import termios

        pid, terminal = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
            os.chdir(docs)
            # Libraries of this process may have set LINES and COLUMNS without Python's knowledge.
            os.execve(sys.executable, [sys.executable, "-m", "cdesearch", *map(str, arguments)], dict(os.environ))
        printed = b""
        ends = time.monotonic() + 120
        while time.monotonic() < ends:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                piece = os.read(terminal, 10_000)
            except OSError:  # the end, on Linux
                break
            if not piece:
                break
            printed += piece
        else:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
        return printed.decode()

    return run


HITS = "\x1b[1m 1 "


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", text).replace("\r\n", "\n")


@pytest.mark.slow
def test_a_terminal_of_45_lines_shows_five_hits_without_a_pager(on_terminal, docs):
    shown = on_terminal("query", "owl")
    assert "\x1b[1;31mowl\x1b[0m" in shown and "\x1b]8;" in shown
    lines = plain(shown).splitlines()
    ranks = [line.split()[0] for line in lines if re.match(r" ?\d+ \S+:\d+  ", line)]
    assert ranks == ["1", "2", "3", "4", "5"] and len(lines) < 45
    assert any(line.startswith("   +") and " more: lines " in line for line in lines)
    assert any(line.startswith("   same text in 1 other file: ") for line in lines)
    assert all(cell_len(line) <= 120 for line in lines)
    (first,) = (found[1] for line in lines if (found := re.match(r" 1 (\S+):", line)))
    assert remembered(1).path == first and remembered(1).root == str(docs)
    assert len({remembered(n).path for n in range(1, 6)}) == 5


@pytest.mark.slow
def test_a_pipe_gets_ten_hits_without_groups_and_nothing_is_remembered(docs, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    shown = cdesearch("query", "owl hoots at part", cwd=docs).stdout
    assert len(re.findall(r"^ ?\d+ \S+:\d+  ", shown, re.MULTILINE)) == 10
    assert "more: lines" not in shown and not list(tmp_path.iterdir())
    grouped = cdesearch("query", "owl hoots at part", "--group", cwd=docs).stdout
    assert "more: lines" in grouped and "same text in 1 other file" in grouped


@pytest.mark.slow
def test_the_pager_is_used_only_if_the_terminal_is_too_small(on_terminal, tmp_path, monkeypatch):
    pager = script(tmp_path / "my pager", "print('PAGED', sys.argv[1:], len(sys.stdin.read().splitlines()))")
    monkeypatch.setenv("PAGER", f"'{pager}' -x")
    assert on_terminal("query", "owl", "-k", "1").startswith(HITS)
    assert re.search(r"^PAGED \['-x'\] \d\d\r\n$", on_terminal("query", "owl", columns=80, rows=24))
    assert on_terminal("query", "owl", "--no-pager", columns=80, rows=24).startswith(HITS)
    for other in ("cat", "", "/nowhere/pager", "'"):
        monkeypatch.setenv("PAGER", other)
        assert on_terminal("query", "owl", columns=80, rows=24).startswith(HITS)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["status", "--files"], ["sources"], ["config", "--all"], ["models"]])
def test_a_long_list_is_shown_through_the_pager_if_the_terminal_is_too_small(
    on_terminal, tmp_path, monkeypatch, command
):
    pager = script(tmp_path / "pager", "print('PAGED', len(sys.stdin.read().splitlines()))")
    monkeypatch.setenv("PAGER", str(pager))
    whole = plain(on_terminal(*command, rows=1000))
    assert "PAGED" not in whole
    assert on_terminal(*command, rows=1) == f"PAGED {len(whole.splitlines())}\r\n"
    assert plain(on_terminal(*command, "--no-pager", rows=1)) == whole
    monkeypatch.setenv("PAGER", "cat")
    assert plain(on_terminal(*command, rows=1)) == whole


def test_the_best_hit_is_opened_and_later_another_one(docs, tmp_path, monkeypatch):
    if sys.platform == "win32":
        pytest.skip("the editor is a script")
    editor = script(tmp_path / "vim", f"open({str(tmp_path / 'opened')!r}, 'w').write(sys.argv[-1])")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("VISUAL", str(editor))
    assert "No hits of an earlier query" in cdesearch("open", cwd=docs, code=2).stderr
    hits = json.loads(cdesearch("query", "owl", "--json", cwd=docs).stdout)["hits"]
    assert cdesearch("query", "owl", "--open", cwd=docs).stdout == ""
    assert (tmp_path / "opened").read_text() == str(docs / hits[0]["path"])
    for number in (2, 1, 10):
        cdesearch("open", number, cwd=tmp_path)
        assert (tmp_path / "opened").read_text() == str(docs / hits[number - 1]["path"])
    assert "has no hit 11" in cdesearch("open", "11", cwd=docs, code=2).stderr


def test_a_long_line_in_a_pipe_is_cut_around_the_words_of_the_query(docs):
    shown = cdesearch("query", "owl", "-k", "1", cwd=docs).stdout
    assert any("…" in line and "owl" in line and len(line) <= 3 + 2 + 400 + 1 for line in shown.splitlines())
