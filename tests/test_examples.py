import json
import subprocess
import sys
from pathlib import Path

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


def test_search_a_folder(tmp_path):
    (tmp_path / "cats.md").write_text("# Cats\n\nA cat purrs when it is content.")
    (tmp_path / "dogs.md").write_text("# Dogs\n\nA dog barks at strangers.")
    command = [sys.executable, str(EXAMPLES / "search_a_folder.py"), str(tmp_path), "why does a feline purr"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("1. cats.md:1")
