"""A model on a server: what the user names instead of a checkpoint."""

from dataclasses import dataclass, replace
from pathlib import Path

from cdesearch.errors import InputError


@dataclass(frozen=True, slots=True)
class EndpointModel:
    """A model behind an OpenAI-compatible embeddings API."""

    url: str  # base URL, such as http://127.0.0.1:8080/v1
    name: str = ""  # of the model on this server; empty: the one that the index names
    query_prefix: str = ""  # put before each query
    document_prefix: str = ""

    def __str__(self) -> str:
        return self.url


Model = Path | EndpointModel  # a checkpoint folder, the id of a model on the hub, or a model on a server


def parse_model(text: str) -> Model:
    """What `--model` names: a URL is that of a server, and everything else is a folder or an id."""
    return EndpointModel(text) if is_url(text) else Path(text)


def with_details(
    model: Model | None, name: str | None, query_prefix: str | None, document_prefix: str | None
) -> Model | None:
    """The model with what the other options say about it; raises InputError if it is not on a server."""
    if isinstance(model, EndpointModel):
        return replace(model, name=name or "", query_prefix=query_prefix or "", document_prefix=document_prefix or "")
    options = {"--model-name": name, "--query-prefix": query_prefix, "--document-prefix": document_prefix}
    for option, value in options.items():
        if value:
            raise InputError(f"{option} is for a model on a server.", "Add --model with the URL of the server.")
    return model


def is_url(text: str) -> bool:
    """Whether a text is a URL, and therefore neither a path nor an id."""
    return "://" in text
