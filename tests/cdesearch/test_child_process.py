import subprocess
import sys

from built import write_files

from cdesearch.child_process import python_module, same_modules


def test_a_child_process_finds_the_same_modules_but_none_in_its_working_directory(tmp_path, monkeypatch):
    own = "print('own', __import__('sys').argv[1])"
    write_files(tmp_path, {"elsewhere/own.py": own, "here/own.py": "print('foreign')"})
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "elsewhere"), *sys.path])
    assert subprocess.check_output(python_module("own", "x"), env=same_modules(), text=True) == "own x\n"
