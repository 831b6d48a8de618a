"""Files that a user includes and excludes, in the walk, in the index, and in every later update."""

import json

import pytest
from command import run_here
from walked import found, items, left_out, put

from cdesearch.errors import InputError
from cdesearch.store.file_account import read_files
from cdesearch.store.index import Index
from cdesearch.store.manifest import Globs
from indexer.files.walk import concerns_walk
from indexer.plan import count_changes


@pytest.fixture
def folder(tmp_path):
    put(tmp_path, "a.md", "b.py", "docs/c.md", "docs/old/d.md", "docs/old/e.py", "src/f.py", "package-lock.json")
    return tmp_path


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (["*.md"], [], ["a.md", "docs/c.md", "docs/old/d.md"]),
        (["docs/"], [], ["docs/c.md", "docs/old/d.md", "docs/old/e.py"]),
        (["/*.md", "src"], [], ["a.md", "src/f.py"]),
        (["docs/**/*.py"], [], ["docs/old/e.py"]),
        (["*.md", "!a.md"], [], ["docs/c.md", "docs/old/d.md"]),
        ([], ["docs"], ["a.md", "b.py", "src/f.py"]),
        ([], ["*.md", "!c.md"], ["b.py", "docs/c.md", "docs/old/e.py", "src/f.py"]),
        (["*.md"], ["old/"], ["a.md", "docs/c.md"]),
        (["a.md"], ["a.md"], []),
    ],
)
def test_globs_choose_files_as_lines_of_an_ignore_file_do(folder, include, exclude, expected):
    assert found(folder, include=include, exclude=exclude) == expected


def test_every_file_that_is_left_out_names_its_glob(folder):
    assert left_out(folder, include=["*.md"], exclude=["old/", "!c.md"]) == {
        "b.py": "no --include matches it",
        "docs/old/": "--exclude old/",
        "package-lock.json": "lock file",
        "src/f.py": "no --include matches it",
    }


@pytest.mark.parametrize(("include", "exclude"), [(["package-lock.json"], []), ([], ["!*-lock.json"])])
def test_a_name_without_wildcards_or_a_negated_glob_includes_what_a_program_has_written(folder, include, exclude):
    assert "package-lock.json" in found(folder, include=include, exclude=exclude)
    assert "package-lock.json" not in found(folder, include=["*.json"])


def test_globs_include_neither_repositories_nor_ignored_files(tmp_path):
    names = [".git", "b.md"]
    put(tmp_path, ".git/HEAD", "b.md")
    put(tmp_path, ".gitignore", text="b.md\n")
    assert found(tmp_path, include=names, exclude=[f"!{name}" for name in names]) == []


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        ([], ["!.github/"], [".github/a/b.md", "c.md", "d/.github/e.md"]),
        ([], ["!/.github"], [".github/a/b.md", "c.md"]),
        ([".github/**"], [], [".github/a/b.md"]),
        (["**/.github/*.md"], [], ["d/.github/e.md"]),
        (["d/.github/e.md"], [], ["d/.github/e.md"]),
        (["*.md"], [], ["c.md"]),
    ],
)
def test_a_glob_that_names_a_hidden_folder_includes_it(tmp_path, include, exclude, expected):
    put(tmp_path, ".github/a/b.md", "c.md", "d/.github/e.md", ".vault/f.md")
    assert found(tmp_path, include=include, exclude=exclude) == expected


SECRETS = """.env .env.local prod.env .envrc .aws/credentials .ssh/config .gnupg/a.txt .netrc .npmrc .pypirc
    .docker/config.json .kube/config id_ed25519 a.p12 b.kdbx token.json credentials.json secrets.yaml .git-credentials
    gh/hosts.yml env.production client_secret_1.apps.googleusercontent.com.json serviceAccountKey.json rootkey.csv
    netrc prod.kubeconfig""".split()  # noqa: SIM905 (a list would be twenty lines)


def test_credentials_stay_out_of_hidden_folders_that_are_included_unless_a_glob_names_them(tmp_path):
    put(
        tmp_path,
        *SECRETS,
        *(f".ci/{name}" for name in SECRETS),
        ".ci/.env.example",
        ".ci/.docker/nginx.conf",
        "a.md",
        "tokens.json",
    )
    hidden = ["!.ci/", "!.ci/**", "!.docker/", "!.kube/", "!.env.example"]
    assert found(tmp_path, exclude=hidden) == [".ci/.docker/nginx.conf", ".ci/.env.example", "a.md", "tokens.json"]
    rules = left_out(tmp_path, exclude=hidden)
    assert all(rules[path].startswith("credentials or private key (") for path in rules), rules
    assert {*rules} == {
        one.replace("aws/credentials", "aws/").replace("ssh/config", "ssh/").replace("gnupg/a.txt", "gnupg/")
        for name in SECRETS
        for one in (name, f".ci/{name}")
    }
    assert found(tmp_path, exclude=["!.env", "!.aws/", "!credentials"]) == [
        ".aws/credentials",
        ".env",
        "a.md",
        "tokens.json",
    ]


def test_an_ignore_file_includes_credentials_only_by_their_name(tmp_path):
    put(tmp_path, ".a/.env", ".b/.env", ".a/.npmrc")
    put(tmp_path, ".cdesearchignore", text="!.*\n")
    assert found(tmp_path) == [".cdesearchignore"]
    put(tmp_path, ".a/.cdesearchignore", text="!.env\n")
    assert found(tmp_path) == [".a/.cdesearchignore", ".a/.env", ".cdesearchignore"]


def test_accents_in_globs_match_names_whose_accents_are_characters_of_their_own(tmp_path):
    put(tmp_path, "U\u0308bersicht.md", "b.md")
    for glob in ("Übersicht*", "U\u0308bersicht*", "?bersicht.md"):
        assert found(tmp_path, include=[glob]) == ["U\u0308bersicht.md"]


def test_a_file_that_the_user_names_is_read_even_if_the_globs_exclude_it(folder):
    (item,) = items(folder, folder / "b.py", include=["*.md"], exclude=["*.py"])
    assert (item.path, item.is_wanted) == ("b.py", True)


@pytest.mark.parametrize("glob", ["", "# no glob", "a\nb", "\x1b]0;", "a\udcff", "  "])
def test_a_text_that_is_not_a_glob_is_refused(tmp_path, glob):
    with pytest.raises(InputError):
        found(tmp_path, exclude=[glob])


def test_a_change_counts_only_if_the_globs_choose_the_file(folder):
    globs = Globs(("*.md", "src"), ("old/",))
    put(folder, "docs/x.py")
    seen = ["a.md", "docs/new.md", "src/f.py", "docs", "gone"]  # what was removed may have been a folder
    unseen = ["b.py", "docs/old/d.md", "docs/old", "docs/x.py"]
    assert {name: concerns_walk(folder, [folder / name], globs) for name in seen + unseen} == (
        dict.fromkeys(seen, True) | dict.fromkeys(unseen, False)
    )


def test_an_index_keeps_its_globs_for_updates_and_status(docs, run):
    (docs / "notes.py").write_text("# a bear\n")
    run(include=("0*.md", "*.py"), exclude=("*.py",))
    manifest = Index.open(docs).manifest
    assert (manifest.include, manifest.exclude) == (("0*.md", "*.py"), ("*.py",))
    assert manifest.n_documents == 10 and manifest.files == {"indexed": 10, "ignored": 3, "skipped": 0}
    (docs / "new.txt").write_text("left out")
    (docs / "0new.md").write_text("the moon")
    assert count_changes(Index.open(docs)) == {"new": 1, "modified": 0, "deleted": 0}
    assert run().documents == 11
    reasons = {file.path: file.reason for file in read_files(Index.open(docs).generation) if file.outcome == "ignored"}
    assert reasons["new.txt"] == "no --include matches it" and reasons["notes.py"] == "--exclude *.py"
    report = run(exclude=(), include=())
    assert report.documents == 15 and Index.open(docs).manifest.globs == Globs()


@pytest.mark.slow
def test_generated_code_is_ignored_and_counted_until_it_is_wanted(docs, run):
    (docs / "a_pb2.py").write_text("# Generated by the compiler. DO NOT EDIT!\nx = 'honey'\n")
    report = run()
    assert report.skipped == () and report.n_files == {"indexed": 12, "ignored": 1, "skipped": 0}
    (record,) = (file for file in read_files(Index.open(docs).generation) if file.outcome == "ignored")
    assert record.path == "a_pb2.py" and record.reason.startswith("generated code, as line 1 says: # Generated by")
    assert count_changes(Index.open(docs)) == {"new": 0, "modified": 0, "deleted": 0}
    assert not run().changed
    assert run(exclude=("!*_pb2.py",)).documents == 13
    (docs / "a_pb2.py").write_text("# Generated by the compiler. DO NOT EDIT!\ny = 'honey'\n")
    report = run(exclude=())
    assert report.documents == 12 and [item.path for item in report.dropped] == ["a_pb2.py"]


def test_the_options_are_repeatable_and_status_names_the_rule(docs, tiny_checkpoint):
    (docs / "yarn.lock").write_text("x")
    options = ["--include", "0*.md", "--include", "yarn.lock", "--exclude", "01.md", "--json"]
    done = run_here(["index", docs, "--model", tiny_checkpoint, *options], ".")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == {"indexed": 10, "ignored": 3, "skipped": 0}
    listed = run_here(["status", "--index", docs, "--files"], ".").stdout
    assert "ignored  01.md  (--exclude 01.md)" in listed and "indexed  yarn.lock" in listed
    shown = run_here(["status", "--index", docs], ".").stdout
    assert "include" in shown and "'0*.md' yarn.lock" in shown
    done = run_here(["index", docs, "--include=", "--json"], ".")
    assert json.loads(done.stdout)["files"] == {"indexed": 11, "ignored": 2, "skipped": 0}
    done = run_here(["index", docs, "--exclude", "# no"], ".")
    assert done.returncode == 2 and "cannot be used as a glob" in done.stderr and "Traceback" not in done.stderr
