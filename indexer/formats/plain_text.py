"""Read plain text, pages of the manual, and files with an unknown suffix or none, which may be scripts."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from indexer.formats.code import check_written_by_hand, code_document, language_of_script
from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile, suffix_of
from indexer.formats.manual import SECTION, is_manual_page, manual_page


class PlainText(Format):
    """Text whose structure is not parsed. A script without one of these suffixes is read as code."""

    suffixes = frozenset({
        ".txt", ".text", ".log", ".bib", ".po", ".conf", ".properties", ".textile", ".pod", ".wiki", ".diff", ".patch",
        ".debian",  # README.Debian, NEWS.Debian and so on, in packages of Debian
    })  # fmt: skip
    names = frozenset({
        "readme", "license", "copying", "notice", "changelog", "authors", "contributing", "todo", "news",
        # lock files, which are read only if the user wants them
        "yarn.lock", "cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "pipfile.lock", "pixi.lock", "gemfile.lock",
        "composer.lock", "mix.lock", "pubspec.lock", "podfile.lock", "flake.lock", "go.sum", "go.work.sum",
    })  # fmt: skip

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        language = None if suffix_of(file.name) in self.suffixes else language_of_script(text)
        if SECTION.fullmatch(PurePosixPath(file.name).suffix) and is_manual_page(text):
            yield manual_page(file, text)
        elif language is not None:
            check_written_by_hand(file, text)
            yield code_document(file, text, language)
        else:
            yield Document(file.path, file.path, file.name, text, "text", has_lines=True)
