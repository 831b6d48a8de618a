"""The web application: the routes of the HTTP API, the web page, MCP, and the middleware around them."""

import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from mcp.server.transport_security import RequestBodyLimitMiddleware, TransportSecuritySettings
from starlette.routing import Route
from starlette.types import ASGIApp

from cdesearch import __version__
from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.mcp.messages import WholeBodies
from cdesearch.serve.mcp.server import create_server
from cdesearch.serve.problems import DESCRIBED, add_handlers
from cdesearch.serve.routes import ask, documents, files, pictures, search, status
from cdesearch.serve.routes.parameters import ServerState
from cdesearch.serve.security import Guard
from cdesearch.serve.settings import API, ServeSettings
from cdesearch.serve.updates import UpdateRuns, Watcher
from cdesearch.store.changes import is_updatable

WEB = Path(__file__).parent / "web"
PAGES = {"/": "index.html", "/api": "api.html"}
MODULES = (search, ask, documents, pictures, files, status)


def create_app(indexes: ServedIndexes, settings: ServeSettings) -> ASGIApp:
    """The application that serves `indexes`. The caller closes the indexes after the application has ended."""
    runs = UpdateRuns()
    admission = Admission(settings.running, settings.waiting, settings.search_seconds)
    drawing = Admission(settings.drawing, settings.waiting, settings.search_seconds)
    agents = create_server(indexes, admission)
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # Guard checks every request
    agents.streamable_http_app(json_response=True, stateless_http=True, transport_security=unchecked)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watch = settings.watch
        watcher = Watcher(one for one in indexes if (is_updatable(one.index) if watch is None else watch))
        async with agents.session_manager.run():
            yield
        admission.close()
        drawing.close()
        watcher.close()
        runs.close()

    app = FastAPI(
        title="cdesearch",
        version=__version__,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # FastAPI's own documentation pages load scripts from another server
        redoc_url=None,
        lifespan=lifespan,
        responses=DESCRIBED,
    )
    app.state.server = ServerState(indexes, admission, drawing, runs)
    add_handlers(app)
    for module in MODULES:
        app.include_router(module.router, prefix=API)
    manager = agents.session_manager
    bodies = RequestBodyLimitMiddleware(WholeBodies(manager), manager.max_request_body_size)
    app.router.routes.append(Route("/mcp", bodies, methods=["POST"]))
    _add_page(app)
    return Guard(app, settings)


def _add_page(app: FastAPI) -> None:
    """Serve the web page at /, the description of the API at /api, and their files below /static."""
    mimetypes.add_type("text/javascript", ".js")  # on Windows another program may have registered a different type
    mimetypes.add_type("text/css", ".css")

    files = StaticFiles(directory=WEB)  # StaticFiles does not follow symbolic links out of its folder

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    @app.api_route("/api", methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        return await files.get_response(PAGES[request.url.path], request.scope)

    app.mount("/static", files, name="static")
