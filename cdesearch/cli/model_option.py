"""The option --model of commands that ask an index."""

from typing import Annotated, Any

import typer

from cdesearch.models.endpoint_model import parse_model

# The type is Any because typer knows no unions; `parse_model` returns a Path or an EndpointModel.
ModelOption = Annotated[
    Any,
    typer.Option(
        "--model",
        parser=parse_model,
        metavar="MODEL",
        help="The model that built the index, if it is not the default model; or the URL of its server.",
        show_default=False,
    ),
]
