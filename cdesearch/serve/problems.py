"""Errors as RFC 9457 problem details. `detail` is the cause, and the extension `remedy` says how to fix it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from cdesearch.errors import (
    BucketError,
    BusyError,
    CdesearchError,
    IndexStateError,
    IndexUntrustedError,
    InputError,
    LanguageModelError,
    ModelServerError,
    NotIndexedError,
)
from cdesearch.serve.options import sentence_of

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1  # the value of the header Retry-After
# The description of errors in OpenAPI, for every route. FastAPI would describe the form of its own errors instead.
_FIELDS = {"type": "string", "title": "string", "status": "integer", "detail": "string", "remedy": "string"}
_SCHEMA = {"type": "object", "properties": {name: {"type": kind} for name, kind in _FIELDS.items()}}
DESCRIBED: dict[int | str, dict[str, Any]] = {
    "default": {"description": "An error, with its cause and a remedy.", "content": {MEDIA_TYPE: {"schema": _SCHEMA}}}
}
# The first matching class determines the status, so a subclass must precede its parent.
_STATUS: tuple[tuple[type[CdesearchError], HTTPStatus], ...] = (
    (NotIndexedError, HTTPStatus.NOT_FOUND),
    (InputError, HTTPStatus.BAD_REQUEST),
    (BusyError, HTTPStatus.TOO_MANY_REQUESTS),
    (IndexUntrustedError, HTTPStatus.FORBIDDEN),
    (IndexStateError, HTTPStatus.SERVICE_UNAVAILABLE),
    (BucketError, HTTPStatus.BAD_GATEWAY),
    (LanguageModelError, HTTPStatus.BAD_GATEWAY),
    (ModelServerError, HTTPStatus.BAD_GATEWAY),
)


def problem(
    status: int, cause: str, remedy: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """A response with problem details."""
    content = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": int(status), "detail": cause}
    if remedy:
        content["remedy"] = remedy
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def problem_of(error: CdesearchError) -> JSONResponse:
    """The problem details of an error; the class of the error determines the HTTP status."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)
    headers = {"Retry-After": str(RETRY_SECONDS)} if status is HTTPStatus.TOO_MANY_REQUESTS else None
    return problem(status, error.cause, error.remedy, headers)


def add_handlers(app: FastAPI) -> None:
    """Make `app` respond to every error with problem details."""

    @app.exception_handler(CdesearchError)
    def _known(_: Request, error: CdesearchError) -> JSONResponse:
        return problem_of(error)

    @app.exception_handler(Exception)
    def _defect(_: Request, error: Exception) -> JSONResponse:
        cause = f"This is a defect of cdesearch: {type(error).__name__}."
        remedy = "Please report it with the traceback that the server printed."
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, cause, remedy)

    @app.exception_handler(RequestValidationError)
    def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence_of(error.errors()[0]), "See /api for the parameters.")

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == HTTPStatus.NOT_FOUND:
            cause, remedy = f"There is nothing at {request.url.path:.200}.", "See /api for all requests."
        elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            cause, remedy = f"{request.method} is not allowed here.", "See /api for the methods."
        else:
            cause, remedy = f"{error.detail}.", ""
        return problem(error.status_code, cause, remedy, error.headers)
