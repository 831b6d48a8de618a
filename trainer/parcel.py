"""Copy a folder in files of at most 60 MiB, for a machine that takes no larger ones, and join the files there.

    python -m trainer.parcel split FOLDER OUT
    python -m trainer.parcel join FOLDER

`join` works in place, and checks the digest of every file that it joins.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from cdesearch.errors import InputError
from trainer.replacing import make_folder, replace_folder, replacing, writing
from trainer.reporting import Parser, reported
from trainer.run.parts import is_split, read_parts, remove_parts, write_parts


def split(folder: Path, out: Path, files: Iterable[Path] | None = None) -> None:
    """Copy the files of a folder, or only `files`, into the new folder `out`, in parts where they are long.

    Raises InputError if there is no such folder or if `out` has files, and StorageError if `out` cannot be written.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", "Name the folder to copy.")
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(f"{out} is not an empty folder.", "Name a new or empty folder.")
    chosen = sorted(file for file in folder.rglob("*") if file.is_file()) if files is None else files

    def write(unfinished: Path) -> None:
        unfinished.mkdir(parents=True)
        for file in chosen:
            target = unfinished / file.relative_to(folder)
            make_folder(target.parent)
            write_parts(target, memoryview(file.read_bytes()))

    replace_folder(out, write)


def join(folder: Path) -> list[Path]:
    """Make whole files of all files in parts below a folder; returns them.

    Raises InputError if there is no such folder, and StorageError if a part is missing or damaged.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", "Name the folder that was copied.")
    joined = [file for file in sorted(folder.rglob("*")) if is_split(file)]
    for file in joined:
        content = read_parts(file)
        with writing(file), replacing(file) as stream:
            stream.write(content)
        with writing(file):
            remove_parts(file)
    return joined


def main(arguments: Sequence[str] | None = None) -> int:
    """Split or join; returns the exit code. Every error is one line on stderr."""
    return reported(lambda: _parcel(arguments))


def _parcel(arguments: Sequence[str] | None) -> int:
    parser = Parser(
        prog="python -m trainer.parcel", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    splitting = commands.add_parser("split", help="copy a folder in files of at most 60 MiB")
    splitting.add_argument("folder", type=Path, help="such as the folder of a checkpoint")
    splitting.add_argument("out", type=Path, help="new or empty folder")
    commands.add_parser("join", help="join the files in place").add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "split":
        split(options.folder, options.out)
        print(f"On the other machine: python -m trainer.parcel join {options.out}")
    else:
        print(f"{len(join(options.folder))} files are joined in {options.folder}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
