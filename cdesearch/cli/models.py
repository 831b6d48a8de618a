"""The command `models`: list models, and fetch one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cdesearch.cli.pager import NoPagerOption, paged
from cdesearch.errors import InputError
from cdesearch.models.endpoint_model import SHORT_NAMES
from cdesearch.terminal import print_rows, print_text, printable

if TYPE_CHECKING:
    from cdesearch.models.catalog import ListedModel

HEADER = ("", "model", "size", "dim", "licence", "languages", "nDCG@10", "what it is")


def models(
    action: Annotated[str | None, typer.Argument(metavar="[fetch]", help="`fetch`, to download a model.")] = None,
    model: Annotated[str | None, typer.Argument(metavar="[ID]", help="Its id at huggingface.co, ORG/NAME.")] = None,
    no_pager: NoPagerOption = False,
) -> None:
    """List the models that are installed or known, or download one.

    Folders of models that your indexes use are listed as well. `cdesearch models fetch ORG/NAME` downloads a model of
    huggingface.co into the cache.
    """
    if action is None:
        _list(no_pager=no_pager)
    elif action == "fetch" and model is not None:
        _fetch(model)
    else:
        raise InputError("`models` lists models, or fetches one.", "Write `cdesearch models fetch ORG/NAME`.")


def _list(*, no_pager: bool) -> None:
    from cdesearch.models.catalog import list_models
    from cdesearch.store.trust import confirmed_models

    rows = [_cells(row) for row in list_models(confirmed_models())]
    with paged(has_pager=not no_pager):
        print_rows([HEADER, *rows])
        print_text(
            "\n`cdesearch index DOCS --model NAME` uses a model, and downloads it if it is not in the cache. NAME may"
            " also be a folder, or any model of sentence-transformers that needs no code of its own. Licence and"
            " languages are those that the model's card states. `--model URL --model-name NAME` uses a model on a"
            " server with an OpenAI-compatible embeddings API. `--model default` is the model that ships, also for an"
            " index or a configuration that names another one, and `--model multilingual` is"
            " intfloat/multilingual-e5-small."
        )


def _cells(row: "ListedModel") -> tuple[str, ...]:
    stated = (text or "-" for text in (row.licence, row.languages, row.measured))
    cells = row.state, row.name, f"{row.size:>7}", f"{row.dimension:>4}", *stated, row.description
    return tuple(map(printable, cells))


def _fetch(name: str) -> None:
    from cdesearch.models.hub import checkpoint_folder, is_id
    from cdesearch.models.model_card import read_card
    from cdesearch.models.registry import family_of

    name = SHORT_NAMES.get(name, name)
    if not is_id(Path(name)):
        raise InputError(f"{name} is not the id of a model.", "An id has the form ORG/NAME.")
    folder = checkpoint_folder(Path(name))
    family_of(folder)
    licence = read_card(folder).licence
    typer.echo(printable(f"{name} is in {folder}. Licence: {licence or 'not stated'}."))
    typer.echo(printable(f"Next: cdesearch index DOCS --model {name}"), err=True)
