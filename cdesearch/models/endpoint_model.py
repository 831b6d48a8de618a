"""What the user names as a model: a checkpoint, or a model on a server with what belongs to it."""

from dataclasses import dataclass, replace
from pathlib import Path

from cdesearch.errors import InputError
from cdesearch.models.checkpoint_files import DEFAULT_MODEL

DEFAULT_NAME = "default"  # names the model that ships; a folder of that name is ./default
SHORT_NAMES = {"multilingual": "intfloat/multilingual-e5-small"}  # of models on the hub

PREFIX_OPTIONS = ("--query-prefix", "--document-prefix")


@dataclass(frozen=True, slots=True)
class EndpointModel:
    """A model behind an OpenAI-compatible embeddings API. The index names what is empty or None here."""

    url: str = ""  # base URL, such as http://127.0.0.1:8080/v1
    name: str = ""  # of the model on this server
    query_prefix: str | None = None  # put before each query
    document_prefix: str | None = None

    def __str__(self) -> str:
        return self.url

    @property
    def prefixes(self) -> tuple[str, str]:
        """The texts that are put before each query and before each document, which may be empty."""
        return self.query_prefix or "", self.document_prefix or ""

    @property
    def options(self) -> dict[str, str]:
        """The options that name the model, with their values."""
        named = {"--model": self.url, "--model-name": self.name}
        return named | dict(zip(PREFIX_OPTIONS, self.prefixes, strict=True))

    def completed_by(self, before: "EndpointModel | None") -> "EndpointModel":
        """This model with what it lacks from the model of the index; raises InputError if no server is named.

        Prefixes belong to a model, so those of the index are kept only if the name stays the same.
        """
        if before is None:
            if not self.url:
                option = next((option for option, value in self.options.items() if value), PREFIX_OPTIONS[0])
                raise InputError(f"{option} is for a model on a server.", "Add --model with the URL of the server.")
            return self
        keeps_prefixes = self.name in ("", before.name)
        query, document = before.prefixes if keeps_prefixes else ("", "")
        return EndpointModel(
            self.url or before.url,
            self.name or before.name,
            query if self.query_prefix is None else self.query_prefix,
            document if self.document_prefix is None else self.document_prefix,
        )


Model = Path | EndpointModel  # a checkpoint folder, the id of a model on the hub, or a model on a server


def parse_model(text: str) -> Model:
    """What `--model` names: the model that ships, a URL of a server, or else a folder, an id or its short name."""
    if text == DEFAULT_NAME:
        return DEFAULT_MODEL
    return EndpointModel(text) if is_url(text) else Path(SHORT_NAMES.get(text, text))


def with_details(
    model: Model | None, name: str | None, query_prefix: str | None, document_prefix: str | None
) -> Model | None:
    """The model with what the other options say about it; raises InputError if it is not on a server.

    Without a model they are about that of the index.
    """
    details = EndpointModel("", name or "", query_prefix, document_prefix)
    if isinstance(model, EndpointModel):
        return replace(details, url=model.url)
    if model is None:
        return None if details == EndpointModel() else details
    for option, value in details.options.items():
        if value:
            raise InputError(
                f"{option} is for a model on a server, and {model} is not a URL.",
                f"Write the URL with http:// or https://, or leave out {option}.",
            )
    return model


def is_url(text: str) -> bool:
    """Whether a text is a URL, and therefore neither a path nor an id."""
    return "://" in text
