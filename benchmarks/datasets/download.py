"""Find a data set by its path, or download an official one by its name."""

import hashlib
import os
import urllib.request
import zipfile
from pathlib import Path

from benchmarks.datasets.published import MD5, URL
from cdesearch.errors import SourceError


def fetched(name: str, folder: Path) -> Path:
    """The BEIR folder `name`: a path, a path under CDESEARCH_DATA, or an official set; raises SourceError.

    An official set is downloaded into `folder` once.
    """
    unpacked = folder / name
    for candidate in (Path(name), Path(os.environ.get("CDESEARCH_DATA", "."), name), unpacked):
        if candidate.is_dir():
            return candidate
    if name not in MD5:
        raise SourceError(f"There is no folder {name}.", f"These can be downloaded: {', '.join(sorted(MD5))}.")
    url, archive = URL.format(name=name), folder / f"{name}.zip"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        urllib.request.urlretrieve(url, archive)
    except OSError as error:
        raise SourceError(
            f"{url} cannot be reached ({error}).", f"Download it elsewhere and unpack it to {unpacked}."
        ) from None
    digest = hashlib.md5(archive.read_bytes(), usedforsecurity=False).hexdigest()
    if digest != MD5[name]:
        raise SourceError(
            f"{archive} has the checksum {digest}, the published one is {MD5[name]}.", "Delete the file and try again."
        )
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    archive.unlink()
    return unpacked
