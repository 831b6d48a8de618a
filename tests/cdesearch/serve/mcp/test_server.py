import asyncio
import json

import pytest
from mcp_calls import call, in_session, text_of

from cdesearch.search.options import PARAMETERS
from cdesearch.search.passages import count_tokens
from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.mcp.server import create_server

TOOLS = {
    "search": ["query", *(one.field for one in PARAMETERS), "index", "max_tokens", "offset"],
    "read": ["path", "context", "index", "max_tokens", "offset"],
    "related": ["path", "index", "max_tokens"],
    "outline": ["path", "index", "max_tokens", "offset"],
    "status": ["index"],
}
MOST_TOKENS = 1_650  # of the descriptions of all tools, which an agent reads in every session


def test_tools_are_described_for_a_model(agent):
    tools = in_session(agent, lambda client: client.list_tools()).tools
    assert {tool.name: list(tool.input_schema["properties"]) for tool in tools} == TOOLS
    for tool in tools:
        assert tool.annotations.read_only_hint and tool.description
        assert tool.input_schema["properties"]["index"]["enum"] == ["corpus", "notes"]
        assert all(parameter["description"] for parameter in tool.input_schema["properties"].values())
    assert tools[0].input_schema["properties"]["k"].items() >= {"minimum": 1, "maximum": 100, "default": 10}.items()


def test_the_tools_of_one_index_are_described_in_few_tokens(notes):
    with ServedIndexes.open([notes]) as opened:
        admission = Admission(running=1, waiting=1, seconds=60)
        server = create_server(opened, admission)
        tools = in_session(server, lambda client: client.list_tools()).tools
        assert not any("index" in tool.input_schema["properties"] for tool in tools)
        assert not call(server, "search", {"query": "bread", "index": "notes"}).is_error
        listed = json.dumps([tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools])
        assert count_tokens(listed, opened["notes"].searcher.tokenizer) <= MOST_TOKENS
        admission.close()


def test_status_shows_every_index(agent):
    result = call(agent, "status")
    assert [one["index"] for one in result.structured_content["indexes"]] == ["corpus", "notes"]
    assert "index: notes\n" in text_of(result) and "new_files: 0" in text_of(result)
    (only,) = call(agent, "status", {"index": "notes"}).structured_content["indexes"]
    assert only["documents"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "The parameter query is missing."),
        ({"query": "a", "limit": 3}, "There is no parameter limit. The parameters are query, k, mode, "),
        ({"query": "a", "k": 0}, "The parameter k should be greater than or equal to 1, not 0."),
        ({"query": "a", "k": "--5"}, "The parameter k should be a valid integer, not --5."),
        ({"query": "a", "k": 10**40}, "The parameter k should be less than or equal to 100, not 1000000"),
        ({"query": "a", "k": 2.5}, "The parameter k should be a valid integer"),
        ({"query": "a", "mode": "magic"}, "The parameter mode should be 'hybrid', 'dense' or 'text'"),
        ({"query": "a", "max_tokens": 1}, "greater than or equal to 250"),
        ({"query": "a", "offset": 501}, "The parameter offset should be less than or equal to 500, not 501."),
        ({"query": ["a"]}, "The parameter query should be a valid string, not ['a']."),
        ({"query": " "}, "The query is empty."),
        ({"query": "a" * 4_001}, "The parameter query should have at most 4000 characters"),
        ({"query": "a", "path": "[z-a]"}, "is empty. Put the lower end first."),
        ({"query": "a", "index": "other"}, "There is no index other here. Use one of these names: corpus, notes."),
    ],
)
def test_wrong_arguments_are_errors_of_one_sentence(agent, arguments, message):
    result = call(agent, "search", arguments)
    assert result.is_error and message in text_of(result) and "\n" not in text_of(result)


def test_numbers_as_texts_and_nulls_are_understood(agent):
    result = call(agent, "search", {"query": "moon", "k": "1", "max_tokens": 900.0, "path": None, "mode": None})
    assert not result.is_error and len(result.structured_content["passages"]) == 1


def test_an_unknown_tool_is_an_error(agent):
    result = call(agent, "grep")
    assert result.is_error and "grep" in text_of(result)


def test_calls_beyond_the_queue_are_refused(indexes):
    admission = Admission(running=1, waiting=0, seconds=60)

    async def two(client):
        return await asyncio.gather(*(client.call_tool("search", {"query": "moon"}) for _ in range(2)))

    results = in_session(create_server(indexes, admission), two)
    admission.close()
    assert sorted(result.is_error for result in results) == [False, True]
    assert "Try again in a second." in next(text_of(result) for result in results if result.is_error)
