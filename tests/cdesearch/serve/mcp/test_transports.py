import asyncio
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

import cdesearch
from cdesearch.cli.first_index import MOST_FILES
from cdesearch.serve.mcp.messages import without_lone_surrogates
from cdesearch.serve.settings import ServeSettings

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
HALVES = [  # calls with half an emoji, and what the answers say
    ("search", {"query": "which town has a mill \ud83d"}, "guide/river.md"),
    ("search", {"query": "mill", "path": "guide\udc00"}, "guide\ufffd. Paths and globs"),
    ("search", {"query": "mill", "\ud83d": 1}, "There is no parameter \ufffd."),
    ("read", {"path": "bread.py\ud83d"}, "bread.py\ufffd is not an indexed document."),
    ("outline", {"path": "\ude00\ud83d"}, "\ufffd\ufffd is not an indexed document."),
    ("status", {"index": "\ud83dx"}, "There is no index \ufffdx here."),
]
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


async def question(client):
    """Make the calls of a typical agent."""
    tools = (await client.list_tools()).tools
    found = await client.call_tool("search", {"query": "which town has a mill", "path": "guide"})
    best = found.structured_content["passages"][0]
    outline = await client.call_tool("outline", {"path": best["path"]})
    read = await client.call_tool("read", {"path": f"{best['path']}:{best['lines']}", "context": 2})
    related = await client.call_tool("related", {"path": best["path"]})
    wrong = await client.call_tool("read", {"path": "/etc/passwd"})
    return [tool.name for tool in tools], found, outline, read, related, wrong


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
    assert [is_error for _, (_, is_error) in expected[1]] == [False] * 4 + [True]
    assert same(in_session(f"{http_server.url}/mcp", question, mode=mode)) == expected
    assert same(in_session(command_with(corpus, notes, cwd=corpus), question, mode=mode)) == expected


def calling(tool, arguments, number):
    """Return a message that calls a tool."""
    parameters = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters}


def exchange(lines, n_answers, cwd):
    """Send lines to `cdesearch mcp`, and return its answers in the order of their ids, and the other lines."""
    pipes = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-m", "cdesearch", "mcp"], cwd=cwd, text=True, **pipes)
    for line in lines:
        process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    process.stdin.flush()
    answers = []
    while len(answers) < n_answers:
        answer = json.loads(process.stdout.readline())
        answers += [answer] if "id" in answer else []
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return sorted(answers, key=lambda answer: answer["id"]), [json.loads(line) for line in rest.splitlines()]


def test_stdout_carries_the_protocol_alone_and_the_end_of_stdin_ends_the_process(corpus):
    lines = [INITIALIZE, INITIALIZED, calling("status", {}, 2), "this is no message"]
    (first, second), rest = exchange(lines, 2, corpus / "guide")  # the nearest index upward is opened
    assert [line["jsonrpc"] for line in rest] == ["2.0"] * len(rest)
    assert first["result"]["serverInfo"]["name"] == "cdesearch" and "`read`" in first["result"]["instructions"]
    assert second["result"]["structuredContent"]["indexes"][0]["index"] == "corpus"


def test_half_an_emoji_in_a_message_is_answered_on_stdin_and_over_http(corpus, http_server):
    calls = [calling(tool, arguments, number) for number, (tool, arguments, _) in enumerate(HALVES, start=2)]
    (_, *answers), _ = exchange([INITIALIZE, INITIALIZED, *calls], 1 + len(calls), corpus)
    for (*_, expected), message, answer in zip(HALVES, calls, answers, strict=True):
        assert expected in answer["result"]["content"][0]["text"]
        body = json.dumps(message)
        posted = httpx.post(f"{http_server.url}/mcp", content=body, headers=HEADERS, timeout=60).json()
        assert posted["id"] == answer["id"] and expected in posted["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "text",
    [r"\ud83d", r"\uD83D\uDE00", r"\ude00\ud83d", r"\ud83d\ud83d\ude00", r"\\ud83d", r"\\\udc00\n", r"\u00e9\" 😀"],
)
def test_only_lone_surrogates_are_replaced(text):
    expected = json.loads(f'"{text}"').encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert json.loads(without_lone_surrogates(f'"{text}"')) == expected


def test_before_a_named_index_exists_tools_say_how_to_make_it_and_find_it_afterwards(tmp_path):
    (tmp_path / "a.md").write_text("The zither is missing a string.")

    async def ask(client):
        tools = (await client.list_tools()).tools
        before = [await client.call_tool(*one) for one in (("search", {"query": "zither"}), ("status", {}))]
        await asyncio.to_thread(lambda: cdesearch.build(tmp_path).close())
        return len(tools), before, await client.call_tool("search", {"query": "zither"})

    n_tools, before, after = in_session(command_with(".", cwd=tmp_path), ask)
    assert n_tools == 5 and "a.md" in text_of(after)
    for result in before:
        assert result.is_error and f"There is no index in {tmp_path}" in text_of(result)
        assert "`cdesearch index " in text_of(result)


@pytest.mark.slow
@pytest.mark.parametrize(("n_files", "arguments"), [(1, ()), (MOST_FILES + 1, ()), (1, ("--no-update",))])
def test_the_first_call_indexes_a_small_folder(tmp_path, n_files, arguments):
    for number in range(n_files):
        (tmp_path / f"{number}.md").write_text("The zither is missing a string.")

    async def ask(client):
        while "being indexed" in text_of(found := await client.call_tool("search", {"query": "zither"})):
            pass
        return found

    found = in_session(command_with(*arguments, cwd=tmp_path), ask)
    is_built = n_files == 1 and not arguments
    assert ("0.md" if is_built else "Run `cdesearch index /" if n_files > 1 else "`cdesearch index") in text_of(found)
    assert found.is_error is not is_built and (tmp_path / ".cdesearch").exists() is is_built


@pytest.mark.slow
def test_an_agent_finds_what_it_has_just_written_and_hears_what_an_answer_lacks(tmp_path):
    (tmp_path / "a.md").write_text("The zither is missing a string.")
    cdesearch.build(tmp_path).close()

    async def ask(client):
        answers = []
        for name, text in (("b.md", "The marimba is new."), ("c.md", "The xylophone is long. " * 10_000)):
            (tmp_path / name).write_text(text)
            answers.append(await client.call_tool("search", {"query": text[:15]}))
        return answers

    found, stale = in_session(command_with(cwd=tmp_path), ask)
    assert "b.md" in text_of(found) and "out of date" not in text_of(found)
    lacks = "This answer lacks 1 new, 0 modified and 0 deleted files: they are being indexed in the background."
    assert f"{lacks} So it may be out of date." in text_of(stale)
    assert any("may be out of date" in note for note in stale.structured_content["notes"])


def test_a_folder_that_does_not_exist_is_an_error_of_one_line(tmp_path):
    assert "nowhere" in cdesearch_process("mcp", "nowhere", cwd=tmp_path, code=2).stderr


def test_no_library_of_the_extra_for_servers_is_needed(corpus):
    run = run_module_without("fastapi", "cdesearch", "mcp", str(corpus), cwd=corpus)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


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
