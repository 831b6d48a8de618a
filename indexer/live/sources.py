"""The command `sources`: list the files and folders of an index, add some, and remove some."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cdesearch.cli.named_index import IndexOption
from cdesearch.cli.pager import NoPagerOption, paged
from cdesearch.errors import InputError
from cdesearch.store.copies import address_of_copies, copies_of
from cdesearch.store.place import BucketAddress, Place, parse_place

if TYPE_CHECKING:
    from cdesearch.store.index import Index
    from cdesearch.store.manifest import Globs
    from indexer.settings import Options


def sources(
    context: typer.Context,
    action: Annotated[Literal["list", "add", "remove"], typer.Argument(help="What to do.")] = "list",
    paths: Annotated[
        list[Any] | None,  # of Place, because typer knows no unions
        typer.Argument(
            metavar="PATH", parser=parse_place, help="Folders and files, also in a bucket: s3://, gs:// or az://."
        ),
    ] = None,
    index: IndexOption = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="With add: read only files of the folder that match; repeatable. For the folder, --include and"
            " --exclude replace the globs of the index. The index keeps them; an empty --include= removes them.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="With add: leave out files of the folder that match; repeatable."),
    ] = None,
    no_pager: NoPagerOption = False,
) -> None:
    """List, add or remove the folders and files of an index. No file is deleted."""
    from cdesearch.slim_imports import prepare_libraries
    from cdesearch.store.index import Index
    from cdesearch.store.place import absolute

    prepare_libraries()
    from indexer.settings import Options

    opened = Index.open(index)
    named = [absolute(path) for path in paths or []]
    if action != "add" and any(_is_typed(context, name) for name in ("include", "exclude")):
        raise InputError(f"`sources {action}` takes no globs.", "Use --include and --exclude with `sources add`.")
    if action == "list":
        if named:
            raise InputError("`sources list` takes no path.", "Use `sources add` or `sources remove`.")
        with paged(has_pager=not no_pager):
            _list(opened)
        return
    if not named:
        raise InputError(f"`sources {action}` needs a path.", "Name a folder or a file.")
    if action == "add":
        globs = [None if given is None else tuple(filter(None, given)) for given in (include, exclude)]
        options = Options(index=opened.place, wait=True, include=globs[0], exclude=globs[1], per_source=True)
        _update(named, options)
        return
    removed = tuple(copies_of(place) if isinstance(place, BucketAddress) else place for place in named)
    _check_removable(opened, removed)
    _update([], Options(index=opened.place, wait=True, removed=removed))


def _is_typed(context: typer.Context, name: str) -> bool:
    """Whether an option is on the command line. A configuration file sets it for `add` alone."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _list(opened: "Index") -> None:
    from cdesearch.terminal import print_text, printable

    opened.require_trust(model=False)  # to look for an unconfirmed folder can contact a server on some systems
    missing, own_globs = set(opened.missing_sources), opened.source_globs
    for source in opened.sources:
        globs = own_globs.get(source)
        chosen = f"  ({_as_options(globs)})" if globs else ""
        address = address_of_copies(source)
        absent = "not mounted" if source.exists() else "does not exist" if address is None else "not downloaded yet"
        print_text(printable(f"{address or source}{chosen}") + (f"  ({absent})" if source in missing else ""))


def _as_options(globs: "Globs") -> str:
    """The globs as the user would type them."""
    pairs = (("--include", globs.include), ("--exclude", globs.exclude))
    return shlex.join(word for option, several in pairs for glob in several for word in (option, glob))


def _check_removable(opened: "Index", named: Sequence[Path]) -> None:
    """Raise InputError unless each path is a source of the index, and others remain."""
    sources = set(opened.sources)
    for path in named:
        if path not in sources:
            raise InputError(
                f"{path} is not a source of this index.",
                "`cdesearch sources` lists them. A line in a .cdesearchignore file leaves out a part of one.",
            )
    if sources <= set(named):
        remedy = f"Run `cdesearch clear {shlex.quote(str(opened.place))}` to remove the index."
        if isinstance(opened.place, BucketAddress):
            remedy = f"To remove the index, delete all objects below {opened.place}."
        raise InputError("An index needs a source.", remedy)


def _update(paths: Sequence[Place], options: "Options") -> None:
    from cdesearch.cli.exits import exit_when_stopped
    from cdesearch.progress import shown_on_stderr
    from cdesearch.terminal import printable
    from indexer.build import build
    from indexer.live.keep_up import summary

    with exit_when_stopped("The same command continues."), shown_on_stderr() as progress:
        report = build(paths, options, progress)
    typer.echo(printable(summary(report)), err=True)
