"""The commands and programs of the documentation run as they are printed, in a home folder with sample files.

A block that cannot run here has a comment with the reason, `<!-- not run: ... -->`. Only the options of its commands
are checked.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command import run_here
from sample_home import write_home

REPOSITORY = Path(__file__).parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?^```(bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUICK = ("README", "searching")  # what a newcomer does first, and the query language; the other pages are slow
INSTALLING = ("pip", "pipx", "uv", "make")  # programs whose lines do not run, because everything is installed


def blocks(page: Path) -> list[tuple[bool, str, str]]:
    """Whether each block runs, its language, and its lines."""
    return [(not mark, language, code) for mark, language, code in BLOCK.findall(page.read_text(encoding="utf-8"))]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder, and folders of its own for the configuration and the state."""
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    for variable in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{variable}_HOME", str(tmp_path / f".{variable.lower()}"))
    return write_home(tmp_path)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=() if page.stem in QUICK or not any(runs) else pytest.mark.slow)
        for page in PAGES
        if (runs := [one[0] for one in blocks(page)])
    ],
)
def test_the_commands_of_a_page_run(page, home):
    folder = home
    for runs, language, code in blocks(page):
        if runs and language == "python":
            run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
            assert run.returncode == 0, run.stderr
            continue
        for line in code.splitlines():
            words = [str(Path(word).expanduser()) if word.startswith("~") else word for word in shlex.split(line, True)]
            if words and words[0] == "cd":
                folder = folder / words[1]
            elif words and words[0] == "cdesearch":
                run = run_here([*words[1:], *(() if runs else ("--help",))], folder if runs else home)
                assert run.returncode == 0, f"{line}\n{run.stdout}{run.stderr}"
            elif words and runs and words[0] not in INSTALLING:
                subprocess.run(["bash", "-c", line], cwd=folder, check=True)
