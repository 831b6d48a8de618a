import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_search_a_folder(tmp_path):
    (tmp_path / "cats.md").write_text("# Cats\n\nA cat purrs when it is content.")
    (tmp_path / "dogs.md").write_text("# Dogs\n\nA dog barks at strangers.")
    command = [sys.executable, str(EXAMPLES / "search_a_folder.py"), str(tmp_path), "why does a feline purr"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("1. cats.md:1")
