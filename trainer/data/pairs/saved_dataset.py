"""Data sets in the folders of the library `datasets`, which pyarrow alone can read.

Dataset.save_to_disk(FOLDER)       state.json names the Arrow files
DatasetDict.save_to_disk(FOLDER)   dataset_dict.json names the splits, of which `train` is read
a copy of a repository on the hub  train-00000-of-00002.parquet and so on, also in a folder `data`
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cdesearch.errors import SourceError

ROWS = 4096  # of a file, read at once
_SHARD = re.compile(r"train-\d+-of-\d+\.parquet")


def shards_of(folder: Path) -> list[Path]:
    """The files of a data set in their order; none if the folder is not one. Raises SourceError."""
    if (folder / "dataset_dict.json").is_file():
        if not (folder / "train" / "state.json").is_file():
            raise SourceError(f"{folder} is a data set without a split `train`.", "Name the folder of another split.")
        return _named_in(folder / "train")
    if (folder / "state.json").is_file():
        return _named_in(folder)
    for inside in (folder, folder / "data"):
        if inside.is_dir() and (found := sorted(one for one in inside.iterdir() if _SHARD.fullmatch(one.name))):
            return found
    return []


def shard_rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of an .arrow or .parquet file; raises SourceError, and OSError as `open` does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with file.open("rb") as stream:
            is_table = file.name.lower().endswith(".parquet")
            for batch in pq.ParquetFile(stream).iter_batches(ROWS) if is_table else pa.ipc.open_stream(stream):
                yield from batch.to_pylist()
    except (pa.ArrowException, ValueError, OverflowError) as error:
        kind = "Parquet" if is_table else "Arrow"
        raise SourceError(f"{file} is not a readable {kind} file ({error}).", "Copy the file again.") from None


def _named_in(folder: Path) -> list[Path]:
    """The files that state.json names, which are in the same folder."""
    try:
        with (folder / "state.json").open("rb") as stream:
            names = [Path(one["filename"]).name for one in json.load(stream)["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        names = []
    if not names:
        raise SourceError(f"{folder / 'state.json'} names no data files.", "Save the data set again.")
    return [folder / name for name in names]
