"""The grammars: their wheels, and what they find in the languages in which most code is written."""

import tomllib
from pathlib import Path

import pytest
from conftest import make_tokenizer
from packaging.requirements import Requirement

from indexer.documents.chunk import Chunker
from indexer.documents.parsing import MODULES, parse_code, with_definitions
from indexer.formats.code import INTERPRETERS, LANGUAGES, LANGUAGES_BY_NAME
from indexer.formats.format import Document

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
OF_OTHER_FORMATS = {"json", "toml", "xml", "yaml"}


@pytest.mark.parametrize("language", MODULES)
def test_every_grammar_is_installed_and_divides_text(language):
    assert parse_code("x", language) is not None
    document = Document("d", "d", "", "x = 1\n" * 500, "code", language=language, has_lines=True)
    assert len(list(Chunker(make_tokenizer(), 128).split(document))) > 1


def test_the_wheels_of_all_grammars_are_dependencies_and_no_others_are():
    required = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["grammars"]]
    wheels = {Requirement(one).name.replace("-", "_") for one in required if one.startswith("tree-sitter-")}
    assert wheels == {module.partition(".")[0] for module in MODULES.values()}


def test_every_grammar_belongs_to_a_language_of_a_file():
    named = {*LANGUAGES.values(), *LANGUAGES_BY_NAME.values(), *INTERPRETERS.values()}
    assert set(MODULES) <= named | OF_OTHER_FORMATS


def test_a_language_without_a_grammar_is_split_as_text():
    assert parse_code("x = 1\n", "elm") is None
    document = Document("d", "d", "", "x = 1\n", "code", language="elm", has_lines=True)
    assert with_definitions(document) == document


@pytest.mark.parametrize(
    ("language", "text", "titles"),
    [
        ("python", "class A:\n    def b(self):\n        pass\n", ["class A", "def b(self)"]),
        ("javascript", "class A {\n  b() {\n  }\n}\n", ["class A", "b()"]),
        ("typescript", "interface A {\n  b: string\n}\n", ["interface A"]),
        ("tsx", "function A() {\n  return <b/>\n}\n", ["function A()"]),
        ("java", "class A {\n  int b() {\n  }\n}\n", ["class A", "int b()"]),
        ("c", "struct a {\n  int b;\n};\n", ["struct a"]),
        ("cpp", "namespace a {\nclass B {\n};\n}\n", ["namespace a", "class B"]),
        ("csharp", "class A {\n  int B() {\n  }\n}\n", ["class A", "int B()"]),
        ("go", "func a() {\n}\n", ["func a()"]),
        ("rust", "impl A {\n  fn b() {\n  }\n}\n", ["impl A", "fn b()"]),
        ("ruby", "class A\n  def b\n    1\n  end\nend\n", ["class A", "def b"]),
        ("php", "<?php\nclass A {\n  function b() {\n  }\n}\n", ["class A", "function b()"]),
        ("swift", "class A {\n  func b() {\n  }\n}\n", ["class A", "func b()"]),
        ("scala", "object A {\n  def b = {\n  }\n}\n", ["object A", "def b"]),
        ("bash", "a() {\n  b\n}\n", ["a()"]),
        ("lua", "function a()\n  b()\nend\n", ["function a()"]),
        ("hcl", 'resource "a" "b" {\n  c = 1\n}\n', ['resource "a" "b"']),
        ("lua", "A.b = function(x)\n  return x\nend\n", ["A.b = function(x)"]),
        ("kotlin", "class A {\n  fun b(): Int {\n    return 1\n  }\n}\n", ["class A", "fun b(): Int"]),
        ("kotlin", f'@Suppress("{"C" * 80}")\nfun a() {{\n}}\n', ["fun a()"]),
        (
            "go",
            "type A struct {\n\tb int\n}\ntype C interface {\n\tio.Reader\n}\n",
            ["type A struct", "type C interface"],
        ),
        ("go", "func a() {\n\tb := []struct {\n\t\tc int\n\t}{}\n}\n", ["func a()"]),
        ("c", "typedef struct {\n  int a;\n} b_t;\n", ["typedef struct b_t"]),
        ("typescript", "export const a = async () => {\n  b()\n}\n", ["export const a = async () =>"]),
        (
            "typescript",
            "class A {\n  b = (e) => {\n  }\n}\ntype C = {\n  d: 1\n}\n",
            ["class A", "b = (e) =>", "type C"],
        ),
        ("javascript", "exports.a = function (x) {\n}\n", ["exports.a = function (x)"]),
        ("javascript", "it('a', () => { b(() => {\n  c()\n})\n})\n", ["it('a', () =>", "it('a', () => { b(() =>"]),
        ("javascript", "{\n}, () => {\n}\n", ["() =>"]),
    ],
)
def test_the_definitions_of_common_languages_are_found(language, text, titles):
    document = with_definitions(Document("d", "d", "", text, "code", language=language, has_lines=True))
    assert [heading.title for heading in document.headings if heading.title] == titles
