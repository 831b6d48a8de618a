import pytest
from mcp import MCPError
from mcp_calls import call, in_session, text_of

from cdesearch.serve.admission import Admission
from cdesearch.serve.mcp.resources import PAGE
from cdesearch.serve.mcp.server import create_server


def test_tools_are_described_for_a_model(agent):
    tools = in_session(agent, lambda client: client.list_tools()).tools
    assert [tool.name for tool in tools] == ["search", "read", "outline", "status"]
    for tool in tools:
        assert tool.annotations.read_only_hint and not tool.annotations.destructive_hint
        assert "Indexes: corpus, notes." in tool.description
        assert tool.input_schema["additionalProperties"] is False and tool.output_schema["type"] == "object"
        assert all(parameter["description"] for parameter in tool.input_schema["properties"].values())
    assert "instead of grep" in tools[0].description and "outline" in tools[1].description


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
        ({"query": "a", "limit": 3}, "There is no parameter limit. The parameters are query, k, path, "),
        ({"query": "a", "k": 0}, "k cannot be 0. It must be a whole number from 1 to 50."),
        ({"query": "a", "k": "--5"}, "k cannot be '--5'. It must be a whole number from 1 to 50."),
        ({"query": "a", "k": -1}, "k cannot be -1."),
        ({"query": "a", "k": 10**40}, "k cannot be 1000000"),
        ({"query": "a", "k": "many"}, "k cannot be 'many'."),
        ({"query": "a", "k": 2.5}, "k cannot be 2.5."),
        ({"query": "a", "k": True}, "k cannot be True."),
        ({"query": "a", "mode": "magic"}, "It must be one of hybrid, rerank, dense, text."),
        ({"query": "a", "max_tokens": 1}, "It must be a whole number from 250 to 12,000."),
        ({"query": ["a"]}, "query cannot be ['a']. It must be a string."),
        ({"query": " "}, "The query is empty."),
        ({"query": "a" * 4_001}, "query has 4,001 characters."),
        ({"query": "a", "path": ""}, "The pattern for paths is empty."),
        ({"query": "a", "path": "[z-a]"}, "is empty. Put the lower end first."),
    ],
)
def test_wrong_arguments_are_errors_with_a_remedy(agent, arguments, message):
    result = call(agent, "search", arguments)
    assert result.is_error and message in text_of(result)


def test_numbers_as_texts_and_nulls_are_understood(agent):
    result = call(agent, "search", {"query": "moon", "k": "1", "max_tokens": 900.0, "path": None, "cursor": None})
    assert not result.is_error and len(result.structured_content["passages"]) == 1


def test_an_unknown_tool_is_an_error_of_the_protocol(agent):
    with pytest.raises(MCPError, match=r"There is no tool grep\. Use search, read, outline, status"):
        call(agent, "grep")


def test_calls_beyond_the_queue_are_refused(indexes):
    admission = Admission(running=1, waiting=0, seconds=60)
    server = create_server(indexes, admission)

    async def two(client):
        import asyncio

        return await asyncio.gather(*(client.call_tool("search", {"query": "moon"}) for _ in range(2)))

    results = in_session(server, two)
    admission.close()
    assert sorted(result.is_error for result in results) == [False, True]
    assert "Try again in a second." in next(text_of(result) for result in results if result.is_error)


def test_resources_are_the_documents(agent, corpus):
    listed = in_session(agent, lambda client: client.list_resources())
    uris = {resource.name: resource.uri for resource in listed.resources}
    assert len(uris) == 16 and uris["guide/river.md"] == "cdesearch:///corpus/guide/river.md"
    assert uris["todo.md"] == "cdesearch:///notes/todo.md"
    (content,) = in_session(agent, lambda client: client.read_resource(uris["guide/river.md"])).contents
    assert content.mime_type == "text/plain"
    assert "".join(content.text.split()) == "".join((corpus / "guide" / "river.md").read_text().split())
    (record,) = in_session(agent, lambda client: client.read_resource(uris["diary.jsonl#m"])).contents
    assert record.text.startswith("Entry m")
    (template,) = in_session(agent, lambda client: client.list_resource_templates()).resource_templates
    assert template.uri_template == "cdesearch:///{index}/{+path}"


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd",
        "cdesearch:///corpus/../notes/todo.md",
        "cdesearch:///corpus/%2e%2e/notes/todo.md",
        "cdesearch:///corpus//etc/passwd",
        "cdesearch:///other/todo.md",
        "cdesearch:///corpus/",
        "cdesearch:///corpus",
    ],
)
def test_other_addresses_cannot_be_read(agent, uri):
    with pytest.raises(MCPError):
        in_session(agent, lambda client: client.read_resource(uri))


def test_many_resources_are_listed_in_pages(tmp_path, tiny_checkpoint):
    import cdesearch
    from cdesearch.serve.indexes import ServedIndexes

    for number in range(PAGE + 5):
        (tmp_path / f"{number}.txt").write_text(f"cat {number}")
    cdesearch.build(tmp_path, model=tiny_checkpoint).close()
    admission = Admission(running=1, waiting=9, seconds=60)
    with ServedIndexes.open([tmp_path]) as opened:
        server = create_server(opened, admission)
        first = in_session(server, lambda client: client.list_resources())
        last = in_session(server, lambda client: client.list_resources(cursor=first.next_cursor))
        with pytest.raises(MCPError, match="is not a cursor"):
            in_session(server, lambda client: client.list_resources(cursor="-1"))
    admission.close()
    assert (len(first.resources), len(last.resources), last.next_cursor) == (PAGE, 5, None)
    assert len({one.uri for one in (*first.resources, *last.resources)}) == PAGE + 5


def test_a_long_resource_is_truncated(tmp_path, tiny_checkpoint):
    import cdesearch
    from cdesearch.serve.indexes import ServedIndexes

    (tmp_path / "long.txt").write_text("\n".join(f"the river has stone {number}" for number in range(4_000)))
    cdesearch.build(tmp_path, model=tiny_checkpoint).close()
    admission = Admission(running=1, waiting=9, seconds=60)
    with ServedIndexes.open([tmp_path]) as opened:
        uri = f"cdesearch:///{opened.names[0]}/long.txt"
        (content,) = in_session(create_server(opened, admission), lambda client: client.read_resource(uri)).contents
    admission.close()
    assert len(content.text) < 50_000 and "of 4000.]" in content.text
