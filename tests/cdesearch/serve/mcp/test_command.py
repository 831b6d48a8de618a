import subprocess
import sys


def test_the_command_says_that_it_is_missing():
    run = subprocess.run([sys.executable, "-m", "cdesearch", "mcp"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
