"""Every command ends with its exit code and at most one line of error."""

import os
import shlex
import signal
import subprocess
import sys

import pytest
from command import cdesearch, cdesearch_several
from process import clean_environment, run_cdesearch

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("user")
    for name in ("home", "docs"):
        (folder / name).mkdir()
    (folder / "docs" / "menu.md").write_text("# Café\n\nThe menu of the café, with 漢字.\n" + "A line of food.\n" * 999)
    options = {"cwd": folder / "docs", "env": clean_environment(folder / "home")}
    run_cdesearch("index", ".", **options)
    return options


WRONG = [
    (["--zzz"], "No such option: --zzz. See `cdesearch --help`."),
    (["query"], "Missing argument 'words'. See `cdesearch query --help`."),
    (["query", "food", "--colour"], "No such option: --colour. To ask about it, write `--` before your words."),
    (["query", "food", "-k", "0"], "-k must be at least 1, not 0. See `cdesearch query --help`."),
    (["query", "food", "-k", "x"], "-k must be a whole number, not x. See `cdesearch query --help`."),
    (["query", "food", "-k", ""], "-k must be a whole number, but it is empty. See `cdesearch query --help`."),
    (["index", ".", "--dimension", ""], "The value of --dimension is empty. Give one, or leave the option out."),
    (["index", ".", "--max-file-size="], "The value of --max-file-size is empty. Give one, or leave the option out."),
    (["query", "food", "-k", "1.5"], "-k must be a whole number, not 1.5. See `cdesearch query --help`."),
    (["food", "-k"], "Option '-k' requires an argument. See `cdesearch query --help`."),
    (["index", ".", "--seed", "1e5"], "--seed must be a whole number, not 1e5. See `cdesearch index --help`."),
    (["index", ".", "--context-size", "0"], "--context-size must be at least 1, not 0."),
    (["index", ".", "--device", "x"], "'x' is not one of 'auto', 'cpu', 'cuda', 'mps'"),
    (["index", "--text-column"], "Option '--text-column' requires an argument. See `cdesearch index --help`."),
    (["status", ".", "--index", "other"], "Both . and --index other are given. Name one index."),
    (["query", "food", "--mode", "foo"], "'foo' is not one of 'hybrid', 'rerank', 'dense', 'text'"),
    (["query", "food", "--path", "[z-a]"], "The range z-a in [z-a] is empty."),
    (["query", b"\xff"], "The query is not valid Unicode."),
    (["query", "food", "--path", b"\xff"], "not valid Unicode"),
]


def test_mistyped_arguments_are_named_in_one_line(indexed):
    commands = [([os.fsdecode(argument) for argument in arguments], 2) for arguments, _ in WRONG]
    runs = cdesearch_several(*commands, cwd=indexed["cwd"])
    for run, (_, message) in zip(runs, WRONG, strict=True):
        assert message in run.stderr and len(run.stderr.splitlines()) == 1
    arguments, message = WRONG[-1]
    arguments = [os.fsdecode(argument) for argument in arguments]
    error = run_cdesearch(*arguments, code=2, **indexed).stderr
    assert message in error and len(error) < 200


def test_an_index_is_named_by_argument_or_option_alike(indexed):
    docs = indexed["cwd"]
    forms = [(*option, form) for form in ("docs", "docs/.cdesearch", "docs/menu.md") for option in ([], ["--index"])]
    commands = [((command, *form), 0) for command in ("status", "doctor", "trust") for form in forms]
    runs = cdesearch_several(*commands, cwd=docs.parent)
    for start in range(0, len(runs), len(forms)):
        shown = {run.stdout for run in runs[start : start + len(forms)]}
        assert len(shown) == 1 and str(docs) in shown.pop()


def test_more_hits_than_there_are_chunks_may_be_asked_for(indexed):
    assert "menu.md" in cdesearch("query", "food", "-k", "99999999999", cwd=indexed["cwd"]).stdout


def test_a_misspelt_command_is_a_query_with_a_hint(indexed):
    assert "run `cdesearch status`" in cdesearch("stauts", cwd=indexed["cwd"]).stderr
    assert cdesearch("food", cwd=indexed["cwd"]).stderr == ""


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_an_output_that_is_not_utf8_shows_escapes(indexed, as_json):
    environment = indexed["env"] | {"PYTHONIOENCODING": "ascii"}
    run = run_cdesearch("query", "menu", "--mode", "text", *as_json, cwd=indexed["cwd"], env=environment)
    assert "\\u6f22" in run.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")  # noqa: PTH110
def test_an_output_that_cannot_be_written_is_one_line(indexed):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "cdesearch", "query", "food"]
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, **indexed)
    assert run.returncode == 2
    assert run.stderr == "error: The output cannot be written (No space left on device).\n"


def test_an_output_above_the_limit_of_the_size_of_files_is_one_line(indexed, tmp_path):
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n"
        "from cdesearch.__main__ import main\nmain()"
    )
    with (tmp_path / "hits").open("w") as hits:
        command = [sys.executable, "-c", program, "query", "food", "--mode", "text"]
        run = subprocess.run(command, stdout=hits, stderr=subprocess.PIPE, text=True, check=False, **indexed)
    assert run.returncode == 2
    assert run.stderr == "error: The output cannot be written (File too large).\n"


@pytest.mark.parametrize("arguments", [["query", "food"], ["query", "food", "--json"], ["models"], ["--help"]])
def test_a_pipe_that_is_closed_early_is_not_an_error(indexed, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "cdesearch", *arguments]
    run = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, **indexed)
    os.close(writing)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_defect_is_one_line_that_says_how_to_see_the_traceback(indexed, tmp_path):
    """A module of the product is replaced by one that fails."""
    program = (
        "import sys, types\nbroken = types.ModuleType('cdesearch.search.searcher')\n"
        "def raises(*_, **__): raise RuntimeError('first line\\nsecond line')\nbroken.Searcher = raises\n"
        "sys.modules['cdesearch.search.searcher'] = broken\nsys.argv = ['cdesearch', 'query', 'food']\n"
        "from cdesearch.__main__ import main\nmain()"
    )
    for shows, lines in ({}, 1), ({"CDESEARCH_TRACEBACK": "1"}, 5):
        run = subprocess.run(
            [sys.executable, "-c", program],
            cwd=indexed["cwd"],
            env=indexed["env"] | shows,
            capture_output=True,
            text=True,
            check=False,
        )
        assert len(run.stderr.splitlines()) >= lines and "first line" in run.stderr
        assert ("Traceback" in run.stderr) is bool(shows)
        assert shows or (run.returncode, len(run.stderr.splitlines())) == (70, 1)


@pytest.mark.parametrize(
    "moment", ["cdesearch.cli.query_options", "cdesearch.search.searcher", "lancedb", "onnxruntime"]
)
def test_ctrl_c_at_any_moment_exits_with_130_without_a_traceback(indexed, moment):
    """The process interrupts itself when it begins to import the module `moment`."""
    program = (
        "import os, signal, sys\nclass Watch:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {moment!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Watch())\nsys.argv = ['cdesearch', 'query', 'food']\n"
        "from cdesearch.__main__ import main\nmain()"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, **indexed)
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
        f"sys.meta_path.insert(0, Broken())\nsys.argv = ['cdesearch', *{command}]\n"
        "from cdesearch.__main__ import main\nmain()"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **indexed)
    assert (run.returncode, run.stdout) == (code, "") and "error" not in run.stderr.lower()


@pytest.mark.skipif(os.name == "nt", reason="a console of Windows has code pages")
def test_a_locale_without_utf8_does_not_crash(indexed):
    environment = indexed["env"] | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert "Caf" in run_cdesearch("query", "menu", cwd=indexed["cwd"], env=environment).stdout


def test_a_command_line_without_arguments_shows_the_help(indexed):
    assert run_cdesearch(**indexed).stdout.startswith("Usage: cdesearch")


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


@pytest.mark.parametrize("size", ["1e400", "-5", "0", "nan", "1e30"])
def test_an_impossible_file_size_is_refused_in_one_line(docs, size):
    cdesearch("index", ".", "--max-file-size", size, cwd=docs, code=2)
    assert not (docs / ".cdesearch").exists()


def test_a_context_size_that_no_index_can_state_is_refused_before_anything_is_written(docs):
    made = cdesearch("index", ".", "--context-size", 10**20, cwd=docs, code=2)
    assert "context size" in made.stderr and not (docs / ".cdesearch").exists()
