"""The command `install-agent`: tell an agent of `cdesearch mcp`, or undo this."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cdesearch.cli.agents.clients import NAMES, Name, client_of
from cdesearch.errors import InputError, StorageError
from cdesearch.terminal import print_text, printable

if TYPE_CHECKING:
    from cdesearch.cli.agents.changes import Change


def install_agent(
    agent: Annotated[Name, typer.Argument(help="The agent.")],
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Undo the changes. Other changes stay.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Let an agent search with `cdesearch mcp`. The changes of its files are shown before they are made."""
    from cdesearch.cli.agents.changes import additions, removals

    client = client_of(agent)
    changes = removals(client) if uninstall else additions(client)
    if not changes:
        print_text(f"{client.title} {'does not know' if uninstall else 'already knows'} cdesearch.")
        return
    for change in changes:
        state = " (new)" if change.before is None else " (removed)" if change.after is None else ""
        print_text(printable(f"{change.file}{state}"))
        print_text("\n".join(map(printable, change.lines)) + "\n")
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("Nothing was changed, because only a terminal can be asked.", "Add --yes.")
        from cdesearch.cli.usage import agrees

        if not agrees(f"Make {'this change' if len(changes) == 1 else 'these changes'}?", default=True):
            raise InputError("Nothing was changed.", "Answer y, or add --yes.")
    make(changes)
    print_text(f"Restart {client.title} {'to finish' if uninstall else 'to use it'}.")


def forget_agents() -> None:
    """Undo the changes for every agent; raises CdesearchError."""
    from cdesearch.cli.agents.changes import removals, was_added

    for client in map(client_of, NAMES):
        if was_added(client):
            make(removals(client))


def make(changes: "Sequence[Change]") -> None:
    """Make the changes; raises StorageError."""
    for change in changes:
        try:
            change.make()
        except OSError as error:
            raise StorageError(
                f"{change.file} cannot be written ({error.strerror}).", "Check its permissions, and run this again."
            ) from None
