"""Calls to an MCP server through the client of the `mcp` package."""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

PATIENCE = 120  # seconds


def in_session(target, ask, **options):
    """What `await ask(client)` returns, in one session with a server: an object, a URL or a transport."""

    async def session():
        async with asyncio.timeout(PATIENCE), Client(target, **options) as client:
            try:
                return await ask(client), None
            except MCPError as error:  # would leave the session in a group of errors
                return None, error

    answer, error = asyncio.run(session())
    if error is not None:
        raise error
    return answer


def call(target, tool, arguments=None, **options):
    """The result of one call of a tool."""
    return in_session(target, lambda client: client.call_tool(tool, arguments or {}), **options)


def command_with(*arguments, cwd):
    """The transport that starts `cdesearch mcp`."""
    command = ["-m", "cdesearch", "mcp", *map(str, arguments)]
    return StdioServerParameters(command=sys.executable, args=command, cwd=cwd, env=dict(os.environ))


@asynccontextmanager
async def with_token(url, token):
    """The transport that shows a token."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


def text_of(result):
    (content,) = result.content
    return content.text


def structured_text(result):
    """Return the structured form of an answer as the JSON text that a client passes to the model."""
    return json.dumps(result.structured_content, ensure_ascii=False)
