"""The documents of the repository name only existing paths, link to existing pages, and name every folder."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
DOCUMENTS = sorted(
    file.relative_to(REPOSITORY).as_posix()
    for pattern in ("*.md", "docs/*.md", "docs/llms.txt", "examples/**/*.md", "cdesearch/default_model/README.md")
    for file in REPOSITORY.glob(pattern)
)
PACKAGES = ("cdesearch", "indexer", "trainer", "benchmarks")
PATH = re.compile(rf"(?<![\w/.])(?:{'|'.join((*PACKAGES, 'tests', 'examples'))})/[\w./-]*")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_and_link_of_a_document_exists(document):
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    named = [REPOSITORY / name.rstrip(".") for name in PATH.findall(text)]
    linked = [(REPOSITORY / document).parent / name for name in LINK.findall(text)]
    assert [str(path) for path in (*named, *linked) if not path.exists()] == []


def test_the_architecture_names_every_folder():
    text = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = {
        file.parent.relative_to(REPOSITORY).as_posix()
        for package in PACKAGES
        for file in (REPOSITORY / package).rglob("*.py")
    }
    assert sorted(folder for folder in folders if f"`{folder}/`" not in text and folder not in PACKAGES) == []
