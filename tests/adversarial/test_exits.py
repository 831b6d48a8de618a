"""Every command ends with its exit code and at most one line of error."""

import os
import shlex
import signal
import subprocess
import sys

import pytest
from built import write_files
from command import cdesearch_process, clean_environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("user")
    menu = "# Café\n\nThe menu of the café, with 漢字.\n" + "A line of food.\n" * 999
    options = {"cwd": write_files(folder / "docs", {"menu.md": menu}), "env": clean_environment(folder / "home")}
    cdesearch_process("index", ".", **options)
    return options


def python(program, indexed, **options):
    """Run a program in the place of the command line."""
    environment = indexed["env"] | options.pop("env", {})
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 60} | options
    command = [sys.executable, "-c", f"{program}\nfrom cdesearch.__main__ import main\nmain()"]
    return subprocess.run(command, cwd=indexed["cwd"], env=environment, check=False, **options)


def test_an_argument_that_is_not_valid_unicode_is_named_in_one_line(indexed):
    error = cdesearch_process("query", "food", "--path", os.fsdecode(b"\xff"), code=2, **indexed).stderr
    assert "not valid Unicode" in error and len(error) < 200


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({"PYTHONIOENCODING": "ascii"}, "\\u6f22"),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "Caf"),
    ],
)
def test_an_output_that_is_not_utf8_shows_escapes(indexed, variables, shown):
    for form in ("text", "json"):
        run = cdesearch_process("query", "menu", "-k", "99999999999", "--format", form, **indexed, **variables)
        assert shown in run.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")  # noqa: PTH110
def test_an_output_that_cannot_be_written_is_one_line(indexed, tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n"
    for file, reason in (("/dev/full", "No space left on device"), (tmp_path / "hits", "File too large")):
        with open(file, "w") as output:  # noqa: PTH123
            run = python(f"{limit}import sys; sys.argv = ['cdesearch', 'query', 'food']", indexed, stdout=output)
        assert run.returncode == 2
        assert run.stderr == f"error: The output cannot be written ({reason}).\n"


def test_a_defect_is_one_line_that_says_how_to_see_the_traceback(indexed):
    """A module of the product is replaced by one that fails."""
    program = (
        "import sys, types\nbroken = types.ModuleType('cdesearch.search.searcher')\n"
        "def raises(*_, **__): raise RuntimeError('first line\\nsecond line')\nbroken.Searcher = raises\n"
        "sys.modules['cdesearch.search.searcher'] = broken\nsys.argv = ['cdesearch', 'query', 'food']"
    )
    run = python(program, indexed)
    assert (run.returncode, len(run.stderr.splitlines())) == (70, 1) and "first line" in run.stderr
    assert "Traceback" not in run.stderr
    assert "Traceback" in python(program, indexed, env={"CDESEARCH_TRACEBACK": "1"}).stderr


@pytest.mark.parametrize(
    "moment", ["cdesearch.cli.query_options", "cdesearch.search.searcher", "lancedb", "onnxruntime"]
)
def test_ctrl_c_at_any_moment_exits_with_130_without_a_traceback(indexed, moment):
    """The process interrupts itself when it begins to import the module `moment`."""
    program = (
        "import os, signal, sys\nclass Watch:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {moment!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Watch())\nsys.argv = ['cdesearch', 'query', 'food']"
    )
    run = python(program, indexed)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "")


@pytest.mark.parametrize("clears", [False, True])
@pytest.mark.parametrize(
    ("command", "module", "number", "code"),
    [
        (["query", "food", "--mode", "text"], "lancedb", signal.SIGINT, 130),
        (["watch"], "watchfiles", signal.SIGINT, 130),
        (["watch"], "watchfiles", signal.SIGTERM, 143),
    ],
)
def test_a_signal_that_a_module_turns_into_another_error_has_its_exit_code(
    indexed, clears, command, module, number, code
):
    """A compiled module that is interrupted while it is imported raises an ImportError without a cause."""
    program = (
        "import os, signal, sys, importlib.machinery\nclass Broken:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: return importlib.machinery.ModuleSpec(name, self)\n"
        "    def create_module(self, spec): return None\n"
        "    def exec_module(self, module):\n"
        "        error = ImportError('initialization failed')\n"
        f"        try: os.kill(os.getpid(), {int(number)})\n"
        f"        except KeyboardInterrupt as cause:\n            error.__cause__ = None if {clears} else cause\n"
        "        raise error\n"
        f"sys.meta_path.insert(0, Broken())\nsys.argv = ['cdesearch', *{command}]"
    )
    run = python(program, indexed)
    assert (run.returncode, run.stdout) == (code, "") and "error" not in run.stderr.lower()


@pytest.mark.parametrize("arguments", [["query", "food"], ["status"], ["--help"], ["index"]])
@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_stream_that_the_caller_has_closed_is_not_a_defect(indexed, arguments, closed):
    program = f"{shlex.join([sys.executable, '-m', 'cdesearch', *arguments])} {closed}>&-"
    run = subprocess.run(program, shell=True, capture_output=True, text=True, check=False, **indexed)
    assert run.returncode == 0 and "error" not in run.stderr


def test_a_working_directory_that_is_gone_is_named(indexed, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    program = f"cd {gone} && rmdir {gone} && {shlex.quote(sys.executable)} -m cdesearch query food"
    run = subprocess.run(program, shell=True, capture_output=True, text=True, check=False, env=indexed["env"])
    assert run.returncode == 2 and run.stderr.startswith("error: The working directory no longer exists.")
