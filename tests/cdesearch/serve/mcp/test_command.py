import subprocess
import sys


def test_without_an_index_the_command_exits_with_code_2():
    run = subprocess.run([sys.executable, "-m", "cdesearch", "mcp"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
