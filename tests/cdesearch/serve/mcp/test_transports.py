import json
import re
import subprocess
import sys

import httpx
import pytest
from command import cdesearch_process
from fenced import WORD
from hidden_libraries import run_module_without
from mcp import MCPError
from mcp_calls import call, command_with, in_session, text_of, with_token
from running_server import running_server

from cdesearch.serve.settings import ServeSettings

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


async def question(client):
    """Make the calls of a typical agent: search, outline and read."""
    tools = (await client.list_tools()).tools
    found = await client.call_tool("search", {"query": "which town has a mill", "path": "guide"})
    best = found.structured_content["passages"][0]
    outline = await client.call_tool("outline", {"path": best["path"]})
    read = await client.call_tool("read", {"path": best["path"], "lines": best["lines"]})
    wrong = await client.call_tool("read", {"path": "/etc/passwd"})
    return [tool.name for tool in tools], found, outline, read, wrong


def same(answer):
    """Return an answer without the parts that depend on the server."""
    names, *results = answer
    texts = [re.sub(WORD, "PASSAGE", text_of(result)) for result in results]
    others = [(result.structured_content, result.is_error) for result in results]
    return names, list(zip(texts, others, strict=True))


@pytest.fixture(scope="module")
def http_server(corpus, notes):
    with running_server([corpus, notes]) as server:
        yield server


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_every_transport_gives_the_same_answers(agent, http_server, corpus, notes, mode):
    expected = same(in_session(agent, question))
    assert [is_error for _, (_, is_error) in expected[1]] == [False, False, False, True]
    assert same(in_session(f"{http_server.url}/mcp", question, mode=mode)) == expected
    assert same(in_session(command_with(corpus, notes, cwd=corpus), question, mode=mode)) == expected


def test_stdout_carries_the_protocol_alone_and_the_end_of_stdin_ends_the_process(corpus):
    lines = [
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "status", "arguments": {}}},
        "this is no message",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "cdesearch", "mcp"],
        cwd=corpus / "guide",  # the nearest index upward is opened
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in lines:
        process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    process.stdin.flush()
    answers = []
    while len(answers) < 2:
        answer = json.loads(process.stdout.readline())
        answers += [answer] if "id" in answer else []
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert [json.loads(line)["jsonrpc"] for line in rest.splitlines()] == ["2.0"] * len(rest.splitlines())
    first, second = sorted(answers, key=lambda answer: answer["id"])
    assert first["result"]["serverInfo"]["name"] == "cdesearch" and "`outline`" in first["result"]["instructions"]
    assert second["result"]["structuredContent"]["indexes"][0]["index"] == "corpus"


def test_without_an_index_the_command_says_so_in_one_line(tmp_path):
    assert "There is no index" in cdesearch_process("mcp", cwd=tmp_path, code=2).stderr
    assert "nowhere" in cdesearch_process("mcp", "nowhere", cwd=tmp_path, code=2).stderr


def test_without_the_libraries_the_command_names_the_extra(corpus):
    run = run_module_without("mcp", "cdesearch", "mcp", str(corpus), cwd=corpus)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.splitlines() == ["error: mcp is not installed. Run `pip install 'cdesearch[serve]'`."]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_the_security_checks_of_the_server_apply_to_mcp(http_server, headers, status):
    answer = httpx.post(f"{http_server.url}/mcp", json=INITIALIZE, headers=HEADERS | headers, timeout=60)
    assert answer.status_code == status, answer.text


def test_mcp_needs_the_token_if_the_server_has_one(corpus):
    with running_server([corpus], ServeSettings(token="s3cret")) as server:
        url = f"{server.url}/mcp"
        assert httpx.post(url, json=INITIALIZE, headers=HEADERS, timeout=60).status_code == 401
        with pytest.raises((MCPError, ExceptionGroup)):
            call(url, "status")
        assert not call(with_token(url, "s3cret"), "status").is_error
