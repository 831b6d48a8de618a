import json
import os
import plistlib
import runpy
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from hidden_libraries import run_code_without
from running_server import wait_until

import cdesearch
from cdesearch.cli.exits import TERMINATED
from cdesearch.store.index import Index

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_pairs_from_python(tmp_path):
    (tmp_path / "code.py").write_text(
        'def double(x):\n    """Give twice the number that is given."""\n    # plainly\n    y = x + x\n    return y\n'
    )
    command = [sys.executable, str(EXAMPLES / "pairs_from_python.py"), str(tmp_path / "pairs.jsonl"), str(tmp_path)]
    subprocess.run(command, capture_output=True, check=True)
    (pair,) = map(json.loads, (tmp_path / "pairs.jsonl").read_text().splitlines())
    assert pair["query"] == "Give twice the number that is given."
    assert pair["document"] == "def double(x):\n    # plainly\n    y = x + x\n    return y"


def test_pairs_from_a_folder_that_does_not_exist_are_an_error(tmp_path):
    command = [sys.executable, str(EXAMPLES / "pairs_from_python.py"), str(tmp_path / "pairs.jsonl"), "nowhere"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 2 and run.stderr.splitlines() == ["error: nowhere is not a folder. Name a folder."]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "library", "extra", "arguments"),
    [
        ("langchain_retriever", "langchain_core", "langchain", ["folder", "question"]),
        ("llama_index_retriever", "llama_index", "llama-index", ["folder", "question"]),
        ("mteb_task", "mteb", "mteb", ["folder"]),
    ],
)
def test_an_example_without_its_library_names_the_extra(name, library, extra, arguments, tmp_path):
    code = "import runpy, sys\nrunpy.run_path(sys.argv.pop(1), run_name='__main__')\n"
    run = run_code_without(library, code, EXAMPLES / f"{name}.py", *arguments, cwd=tmp_path)
    assert run.returncode == 1 and run.stderr.count("\n") == 1
    assert f"is not installed. Run `pip install 'cdesearch[{extra}]'`" in run.stderr


@pytest.fixture
def run_here(monkeypatch, capsys):
    """Runs an example within this process, which has imported most of what examples import."""

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py") if "sys.argv" in path.read_text()))
def test_an_example_without_its_arguments_shows_how_it_is_called(name, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name])
    with pytest.raises(SystemExit, match=f"python examples/{name} "):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_keep_an_index(tmp_path, run_here):
    (tmp_path / "cats.md").write_text("# Cats\n\nA cat purrs when it is content.")
    (tmp_path / "bread.md").write_text("# Bread\n\nKnead the dough and bake it.")
    lines = run_here("keep_an_index.py", tmp_path, "how to bake", "why does a cat purr").splitlines()
    answers = ["how to bake: bread.md:3", "why does a cat purr: cats.md:3"]
    assert lines == ["2 documents, 0 files skipped", *answers, *answers, "up to date"]


def test_the_cells_of_the_notebook_run_one_after_another(tmp_path, monkeypatch, capsys):
    (tmp_path / "fresh.md").write_text("# Fresh\n\nTo keep an index up to date, run the program index again.")
    monkeypatch.setenv("FOLDER", str(tmp_path))
    notebook = json.loads((EXAMPLES / "search.ipynb").read_text(encoding="utf-8"))
    names = {}
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 documents" and "fresh.md:3" in lines[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries
@pytest.mark.parametrize("name", ["langchain_retriever.py", "llama_index_retriever.py"])
def test_retrievers_of_other_libraries(name, tmp_path, run_here):
    (tmp_path / "bread.md").write_text("# Bread\n\nKnead the dough and bake it.")
    (tmp_path / "cats.md").write_text("# Cats\n\nA cat purrs.")
    assert "bread.md:3 # Bread" in run_here(name, tmp_path, "how to bake").splitlines()[0]


def test_lancedb_table(tmp_path, run_here):
    assert run_here("lancedb_table.py", tmp_path / "database").strip() == "Knead the dough and let it rise."


@pytest.mark.slow
def test_mteb_task(tmp_path):
    texts = {"d1": "Knead the dough and bake it.", "d2": "A cat purrs.", "d3": "The moon pulls the tides."}
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text("\n".join(json.dumps({"_id": n, "text": t}) for n, t in texts.items()))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "baking bread"}) + "\n")
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td1\t1\n")
    command, offline = [sys.executable, EXAMPLES / "mteb_task.py", tmp_path], {**os.environ, "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=offline)
    assert run.stdout.endswith("nDCG@10 1.000\n")


def test_the_service_files_run_the_command_watch():
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(EXAMPLES / "watch" / "cdesearch-watch.service", encoding="utf-8")
    agent = plistlib.loads((EXAMPLES / "watch" / "cdesearch-watch.plist").read_bytes())
    for program, command, folder in (unit["Service"]["ExecStart"].split(), agent["ProgramArguments"]):
        assert program.endswith("/cdesearch") and command == "watch" and folder.endswith("/docs")
    assert unit["Service"]["SuccessExitStatus"] == str(TERMINATED)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the hook is a shell script")
def test_the_git_hook_updates_the_index_after_a_checkout_and_a_merge(tmp_path, tiny_checkpoint, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *arguments], check=True, capture_output=True)

    git("init", "--initial-branch=main")
    for hook in ("post-checkout", "post-merge"):
        shutil.copy(EXAMPLES / "git-hook" / "post-checkout", tmp_path / ".git" / "hooks" / hook)
    (tmp_path / ".gitignore").write_text(".cdesearch/\n")
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "side")
    assert not (tmp_path / ".cdesearch").exists()
    (tmp_path / "owl.md").write_text("The owl.")
    git("add", ".")
    git("commit", "-m", "owl")
    cdesearch.build(tmp_path, model=tiny_checkpoint).close()
    for words, n_documents in ((("checkout", "main"), 0), (("merge", "side"), 1)):
        git(*words)
        wait_until(lambda n=n_documents: Index.open(tmp_path).manifest.n_documents == n)
