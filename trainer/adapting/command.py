"""The command `adapt`."""

from pathlib import Path
from typing import Annotated

import typer

from cdesearch.cli.named_index import FolderArgument


def adapt(
    folder: FolderArgument = None,
    minutes: Annotated[float, typer.Option(min=1, max=10_000, help="About how long it may take.")] = 30.0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the model. Default: beside the index, with -adapted in its name.")
    ] = None,
) -> None:
    """Adapt the model to an index (experimental).

    A copy of the model is trained on the sentences and headings of the index. A mean of this copy and the model of
    the index is written if it ranks held-out passages higher for a sentence that was taken from them; otherwise no
    model is written. With 15 minutes, dense and hybrid search changed by .5 and -.1 points of nDCG@10 on SciFact,
    by 2.1 and .6 on ArguAna, by .7 and .4 on Cranfield, by -.1 and -.6 on CACM, and by .0 and .2 on a textbook.
    Three sets with few sentences were refused; an index needs 300 chunks. Sentences and real questions can differ:
    compare models with `cdesearch eval --labels`. After Ctrl-C, the same command continues.
    """
    from cdesearch.cli.named_index import named_index
    from cdesearch.store.index import Index
    from trainer.torch_needed import check_torch

    index = Index.open(named_index(folder, None))
    check_torch()
    from cdesearch.cli.exits import exit_when_stopped

    again = "The same command continues with what is done so far."
    with exit_when_stopped(again):
        from cdesearch.progress import shown_on_stderr
        from trainer.adapting.adapt import adapt as run
        from trainer.adapting.result import next_command, told
        from trainer.execution.distributed import say
        from trainer.run.stop import exit_code
    target = out or index.folder.with_name(f"{index.folder.name}-adapted")
    try:
        with shown_on_stderr() as display:
            adapted = run(index, target, minutes, display)
    except KeyboardInterrupt as error:
        say(f"Stopped. {again}")
        raise typer.Exit(exit_code(error)) from None
    for line in told(adapted):
        print(line)
    if adapted.model is not None:
        print(next_command(index.folder, adapted.model))
