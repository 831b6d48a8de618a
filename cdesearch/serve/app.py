"""The web application: routes, the page, and what guards them."""

import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from cdesearch import __version__
from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.metrics import Metered, ServerMetrics
from cdesearch.serve.problems import add_handlers
from cdesearch.serve.routes import documents, health, search, status
from cdesearch.serve.security import Guard
from cdesearch.serve.settings import API, ServeSettings
from cdesearch.serve.state import ServerState

WEB = Path(__file__).parent / "web"
ROUTERS = (search.router, documents.router, status.router, health.router)


def create_app(indexes: ServedIndexes, settings: ServeSettings) -> FastAPI:
    """The application of a server for `indexes`, which the caller closes after it."""
    admission = Admission(settings.running, settings.waiting, settings.search_seconds)
    metrics = ServerMetrics(indexes, admission)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        admission.close()

    app = FastAPI(
        title="cdesearch",
        version=__version__,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # FastAPI's own pages load their scripts from another server
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.server = ServerState(indexes, settings, admission, metrics)
    app.add_middleware(Guard, settings=settings)
    app.add_middleware(Metered, metrics=metrics)  # the outermost
    add_handlers(app)
    for router in ROUTERS:
        app.include_router(router, prefix=API)
    _add_page(app)
    return app


def _add_page(app: FastAPI) -> None:
    """Serve the files of the page at / and below /static."""
    mimetypes.add_type("text/javascript", ".js")  # on Windows a program can have registered another type
    mimetypes.add_type("text/css", ".css")

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(WEB / "index.html")

    @app.get("/api", include_in_schema=False)
    def api_page() -> FileResponse:
        return FileResponse(WEB / "api.html")

    app.mount("/static", StaticFiles(directory=WEB), name="static")
