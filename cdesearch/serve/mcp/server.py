"""The MCP server, which answers the requests of the protocol on every transport."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp.types import Tool as ListedTool

from cdesearch import __version__
from cdesearch.cli.passage_text import readable
from cdesearch.errors import CdesearchError
from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.mcp.resources import TEMPLATE, list_resources, read_resource
from cdesearch.serve.mcp.tools import INSTRUCTIONS, make_tools

MIME_TYPE = "text/plain"
READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

Context = ServerRequestContext[Any]
Answer = TypeVar("Answer")
logger = logging.getLogger(__name__)


def create_server(indexes: ServedIndexes, admission: Admission) -> Server[Any]:
    """Return an MCP server for `indexes`. Its searches run in `admission`."""
    handlers = _Handlers(indexes, admission)
    return Server(
        "cdesearch",
        version=__version__,
        title="cdesearch",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


def session_manager(server: Server[Any]) -> StreamableHTTPSessionManager:
    """Return the streamable HTTP transport of a server. Requests are answered only while its `run()` is active.

    The server is stateless: nothing is kept between requests. The application that contains the transport must check
    the Host header, the Origin header and the token.
    """
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True)


class _Handlers:
    """The handlers of the requests of the protocol."""

    def __init__(self, indexes: ServedIndexes, admission: Admission) -> None:
        self._indexes = indexes
        self._admission = admission
        self._tools = make_tools(indexes.names)

    async def list_tools(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        tools = [
            ListedTool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=tool.schema,
                output_schema=dict(tool.result),
                annotations=READ_ONLY,
            )
            for tool in self._tools.values()
        ]
        return ListToolsResult(tools=tools)

    async def call_tool(self, _: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name:.60}. Use {', '.join(self._tools)}.")
        try:
            answer = await self._admission.run(lambda: tool.call(self._indexes, params.arguments or {}))
        except CdesearchError as error:
            return _error(str(error))
        except Exception as error:
            logger.exception("The tool %s failed.", params.name)
            return _error(f"This is a defect of cdesearch ({type(error).__name__}). Please report it.")
        return CallToolResult(content=[TextContent(text=answer.text)], structured_content=answer.data)

    async def list_resources(self, _: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        cursor = params.cursor if params else None
        found, following = await self._answer(lambda: list_resources(self._indexes, cursor))
        resources = [
            Resource(uri=one.uri, name=one.name, title=one.title, description=one.description, mime_type=MIME_TYPE)
            for one in found
        ]
        return ListResourcesResult(resources=resources, next_cursor=following)

    async def list_templates(self, _: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        template = ResourceTemplate(
            uri_template=TEMPLATE,
            name="document",
            title="Indexed document",
            description="The text of an indexed document, selected by the name of its index and by its path.",
            mime_type=MIME_TYPE,
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, _: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        text = await self._answer(lambda: read_resource(self._indexes, params.uri))
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=text, mime_type=MIME_TYPE)])

    async def _answer(self, find: Callable[[], Answer]) -> Answer:
        """Run `find` and return its result. A CdesearchError becomes an error of the protocol."""
        try:
            return await self._admission.run(find)
        except CdesearchError as error:
            raise MCPError(INVALID_PARAMS, readable(str(error))) from None


def _error(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=readable(message))], is_error=True)
