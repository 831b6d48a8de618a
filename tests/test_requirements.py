"""The locked packages and the entry of the MCP registry are those that pyproject.toml asks for."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def pins(*files: str) -> set[tuple[str, str]]:
    texts = [(REPOSITORY / "requirements" / file).read_text(encoding="utf-8") for file in files]
    return {(name, version) for text in texts for name, version in re.findall(r"^([\w.-]+)==([\w.+]+)", text, re.M)}


def asked(extras: list[str]) -> Iterator[Requirement]:
    """What cdesearch needs with these extras, which may name other extras of it."""
    project = PYPROJECT["project"]
    groups = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    for requirement in map(Requirement, sum(groups, PYPROJECT["dependency-groups"]["build"])):
        if requirement.name == "cdesearch":
            yield from asked(sorted(requirement.extras))
        else:
            yield requirement


@pytest.mark.parametrize(
    ("files", "extras"),
    [(["serve.txt"], ["serve"]), (["train.txt", "torch.txt"], ["train"]), (["dev.txt", "torch.txt"], ["dev"])],
)
def test_a_version_is_locked_for_every_dependency(files, extras):
    locked = pins(*files)
    for requirement in asked(extras):
        if requirement.name == "cdesearch-weights":  # a checkout contains it
            continue
        versions = [version for name, version in locked if name == canonicalize_name(requirement.name)]
        assert versions and all(map(requirement.specifier.contains, versions)), f"Run `make lock`: {requirement}"


def test_the_tests_run_with_the_versions_of_the_demo_and_of_training():
    assert pins("serve.txt", "train.txt") <= pins("dev.txt")


def test_the_documentation_is_built_with_the_versions_of_the_demo():
    locked = pins("docs.txt")
    names = {canonicalize_name(name) for name, _ in locked}
    assert pins("serve.txt") <= locked
    assert {Requirement(one).name for one in PYPROJECT["dependency-groups"]["docs"]} <= names


def test_the_entry_of_the_registry_for_mcp_agrees_with_the_package():
    project, entry = PYPROJECT["project"], json.loads((REPOSITORY / "server.json").read_text(encoding="utf-8"))
    (package,) = entry["packages"]
    assert entry["version"] == package["version"]  # a release replaces both
    assert entry["description"] == project["description"] and len(entry["description"]) <= 100
    assert (package["registryType"], package["identifier"]) == ("pypi", project["name"])
    # The registry starts `uvx cdesearch mcp`, without extras, and looks for the name in the description on PyPI.
    command = package["packageArguments"][0]["value"]
    assert (
        command in PYPROJECT["project"]["entry-points"]["cdesearch.commands"] and project["name"] in project["scripts"]
    )
    assert "mcp" in {requirement.name for requirement in asked([])}
    assert f"mcp-name: {entry['name']} " in (REPOSITORY / project["readme"]).read_text(encoding="utf-8")
