"""What mkdocs adds to the pages: the reference of the HTTP API, and their Markdown for the readers of llms.txt."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI

from cdesearch.serve.app import MODULES
from cdesearch.serve.settings import API

MARK = "<!-- requests of the HTTP API -->"


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Replace the mark in a page by the reference, and publish the Markdown. mkdocs calls this for every page."""
    if MARK in markdown:
        markdown = markdown.replace(MARK, _reference())
    published = Path(config["site_dir"], page.file.src_uri)
    published.parent.mkdir(parents=True, exist_ok=True)
    published.write_text(markdown, encoding="utf-8")
    return markdown


def _reference() -> str:
    app = FastAPI()
    for module in MODULES:
        app.include_router(module.router, prefix=API)
    requests = [(path, *one) for path, methods in app.openapi()["paths"].items() for one in methods.items()]
    return "\n\n".join(_request(path, method, described) for path, method, described in requests)


def _request(path: str, method: str, described: dict[str, Any]) -> str:
    parts = [f"### `{method.upper()} {path}`", described["description"]]
    if parameters := described.get("parameters"):
        rows = ["| Parameter | Type | Default | Description |", "|---|---|---|---|", *map(_row, parameters)]
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def _row(parameter: dict[str, Any]) -> str:
    schema = parameter["schema"]
    default = "required" if parameter["required"] else schema.get("default", "")
    text = parameter.get("description", "").replace("|", "\\|")
    return f"| `{parameter['name']}` | {_type(schema)} | {default} | {text} |"


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"] if one.get("type") != "null")
    if schema.get("type") == "array":
        return f"{_type(schema['items'])}, repeatable"
    limits = f" {schema.get('minimum', '')} to {schema.get('maximum', '')}" if "minimum" in schema else ""
    return str(schema.get("type", "")) + limits
