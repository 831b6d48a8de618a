"""Find a data set by its path, or download an official one by its name."""

import hashlib
import os
import urllib.request
import zipfile
from pathlib import Path

from cdesearch.errors import SourceError

URL = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/{name}.zip"
MD5 = {
    "arguana": "8ad3e3c2a5867cdced806d6503f29b99",
    "fiqa": "17918ed23cd04fb15047f73e6c3bd9d9",
    "nfcorpus": "a89dba18a62ef92f7d323ec890a0d38d",
    "scidocs": "38121350fc3a4d2f48850f6aff52e4a9",
    "scifact": "5f7d1de60b170fc8027bb7898e2efca1",
    "trec-covid": "ce62140cb23feb9becf6270d0d1fe6d1",
}


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
