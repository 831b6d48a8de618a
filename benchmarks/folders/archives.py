"""The folders: which files of pinned archives of Debian and PyPI make up each, and how they are downloaded."""

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import msgspec

from cdesearch.errors import SourceError

COMPLETE = "complete"  # the folder's own subfolder `files` holds everything
DEBIAN = """Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


class Archive(msgspec.Struct, frozen=True):
    """An archive of one version, and the choice of its files, as `archives.toml` names them."""

    kind: Literal["deb", "debian-source", "sdist"]
    package: str
    version: str
    sha256: str
    prefix: str  # removed from the paths
    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    renamed: tuple[str, str] = ("", "")

    def target(self, member: str) -> str | None:
        """The path in the folder of a member of the archive; None if the folder does not contain it."""
        member = member.removeprefix("./")
        if not member.startswith(self.prefix):
            return None
        path = member[len(self.prefix) :]
        chosen = any(fnmatchcase(path, pattern) for pattern in self.include)
        return path if chosen and not any(fnmatchcase(path, pattern) for pattern in self.exclude) else None


ARCHIVES = msgspec.convert(tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")), dict[str, Archive])


def rebuilt(name: str, data: Path) -> Path:
    """The path of the files of a folder, which are downloaded into `data` once.

    Raises SourceError if the archive cannot be downloaded or is not the pinned one.
    """
    archive = ARCHIVES[name]
    files, mark = data / name / "files", data / name / COMPLETE
    pinned = f"{archive.sha256}\n"
    if mark.exists() and mark.read_text(encoding="utf-8") == pinned:
        return files
    shutil.rmtree(data / name, ignore_errors=True)
    old, new = archive.renamed
    with tempfile.TemporaryDirectory() as place:
        for path, content in _members(archive, _download(archive, Path(place))):
            file = files / (path.removesuffix(old) + new if path.endswith(old) else path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    mark.write_text(pinned, encoding="utf-8")
    return files


def _download(archive: Archive, place: Path) -> Path:
    """The file of an archive in `place`; raises SourceError."""
    pinned = f"{archive.package}={archive.version}"
    if archive.kind == "deb":
        _run(["apt-get", "download", pinned], place, pinned)
        pattern = "*.deb"
    elif archive.kind == "sdist":
        options = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", *options]
        _run([*command, pinned.replace("=", "==")], place, pinned)
        pattern = "*.tar.gz"
    else:
        _download_source(pinned, place)
        pattern = "*.orig.tar.*z"
    (file,) = place.glob(pattern)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest != archive.sha256:
        raise SourceError(
            f"{file.name} has the checksum {digest}, not the pinned one.", "Try again, or ask who published it."
        )
    return file


def _download_source(pinned: str, place: Path) -> None:
    """Download a Debian source package with lists of its own, because few systems list sources."""
    (place / "lists" / "partial").mkdir(parents=True)
    (place / "debian.sources").write_text(DEBIAN, encoding="utf-8")
    options = {
        "Dir::Etc::sourcelist": place / "debian.sources",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": place / "lists",
        "Dir::Cache": place,
    }
    command = ["apt-get", *(part for key, value in options.items() for part in ("-o", f"{key}={value}"))]
    _run([*command, "update"], place, pinned)
    _run([*command, "source", "--download-only", "--only-source", pinned], place, pinned)


def _run(command: Sequence[str], place: Path, pinned: str) -> None:
    try:
        subprocess.run(command, cwd=place, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        output = str(getattr(error, "stderr", "") or error).strip()
        last = output.splitlines()[-1]
        raise SourceError(
            f"{pinned} cannot be downloaded ({last:.200}).",
            "Check the network; packages of Debian need apt-get with the lists of Debian 12.",
        ) from None


def _members(archive: Archive, packed: Path) -> Iterator[tuple[str, bytes]]:
    """The paths and contents of the chosen files. Links are left out."""
    data = packed.read_bytes()
    if archive.kind == "deb":
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", packed], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            path = archive.target(member.name)
            opened = tar.extractfile(member) if path is not None and member.isreg() else None
            if path is not None and opened is not None:
                yield path, opened.read()
