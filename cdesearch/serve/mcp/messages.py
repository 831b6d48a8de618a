"""Mend messages with half an emoji, which the SDK refuses. Clients that cut a text send a lone surrogate: "\\ud83d"."""

import re

from anyio import AsyncFile
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.types import Message, Receive, Scope, Send

# A pair of surrogates, a lone one (the group), or any other escape, such as a backslash that a text contains.
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u([dD][89a-fA-F]..)|.)", re.DOTALL)


def without_lone_surrogates(message: str) -> str:
    """The JSON text `message`, in which U+FFFD replaces every escaped surrogate that is not part of a pair."""
    return _ESCAPE.sub(lambda escape: r"\ufffd" if escape[1] else escape[0], message)


class WholeLines(AsyncFile[str]):
    """A file of messages, one a line. Without an answer, a client would wait for ever."""

    async def readline(self) -> str:
        return without_lone_surrogates(await super().readline())


class WholeBodies(StreamableHTTPASGIApp):
    """Answers messages over HTTP, each of which must arrive as a whole."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def received() -> Message:
            message = await receive()
            text = without_lone_surrogates(message.get("body", b"").decode(errors="replace"))
            return {**message, "body": text.encode()}

        await super().__call__(scope, received, send)
