"""The server and a client that shares no code with it: the reference inspector, a program of npm."""

import json
import shutil
import subprocess
import sys

import pytest
from running_server import running_server

INSPECTOR = "@modelcontextprotocol/inspector@0.15.0"  # later versions need Node 22
PATIENCE = 180  # seconds; the first call may download the program

pytestmark = pytest.mark.slow


def inspect(*arguments, cwd):
    npx = shutil.which("npx")
    run = None
    if npx is not None:
        command = [npx, "--yes", "--prefer-offline", INSPECTOR, "--cli", *map(str, arguments)]
        run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if run is None or "npm error" in run.stderr or "npm ERR" in run.stderr:
        pytest.skip("NOT TESTED: the inspector needs Node.js and, for the first time, the npm registry.")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module", params=["stdio", "http"])
def target(request, corpus):
    if request.param == "stdio":
        yield [sys.executable, "-m", "cdesearch", "mcp", corpus]
    else:
        with running_server([corpus]) as server:
            yield [f"{server.url}/mcp", "--transport", "http"]


def test_the_inspector_lists_searches_and_reads(target, corpus, tmp_path):
    tools = inspect(*target, "--method", "tools/list", cwd=tmp_path)["tools"]
    assert [tool["name"] for tool in tools] == ["search", "read", "outline", "status"]
    arguments = ["--tool-name", "search", "--tool-arg", "query=which town has a mill", "--tool-arg", "k=2"]
    found = inspect(*target, "--method", "tools/call", *arguments, cwd=tmp_path)
    best = found["structuredContent"]["passages"][0]
    assert best["path"] == "guide/river.md" and best["text"] in found["content"][0]["text"]
    wrong = ["--tool-name", "read", "--tool-arg", "path=../secret"]
    assert inspect(*target, "--method", "tools/call", *wrong, cwd=tmp_path)["isError"] is True
