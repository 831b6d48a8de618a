import os
import subprocess
import sys

import pytest

import cdesearch

HEAVY = ("torch", "lancedb", "faiss", "transformers", "onnxruntime", "obstore", "boto3", "cdesearch.store.bucket")


def loaded_after(code):
    program = f"import sys\n{code}\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "code",
    ["import cdesearch", "from cdesearch import Hit, CdesearchError", "import cdesearch.cli.main, indexer.command"],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code):
    assert loaded_after(code).splitlines()[-1] == "[]"


@pytest.mark.slow
def test_query_and_index_need_neither_torch_nor_a_library_for_buckets(tmp_path):
    (tmp_path / "a.md").write_text("# Cats\n\nA cat purrs.\n\n# Dogs\n\nA dog barks.\n")
    code = (
        f"import cdesearch\nhits = cdesearch.build({str(tmp_path)!r}).search('cat')\n"
        "assert hits[0].chunk.path == 'a.md'"
    )
    assert loaded_after(code).splitlines()[-1] == "['lancedb', 'onnxruntime']"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["query", "cat", "--index"], "a.md"),
        pytest.param(["index", "--json", "--index"], '"changed": true', marks=pytest.mark.slow),
    ],
)
def test_a_query_or_an_update_imports_no_needless_modules_and_shows_no_warnings_of_lancedb(arguments, shown, tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "a.md").write_text("# Cats\n\nA cat purrs.\n")
    cdesearch.build(tmp_path)
    (tmp_path / "b.md").write_text("# Dogs\n\nA dog barks.\n")
    program = (
        "import os, sys\nfrom cdesearch.cli.start import main\n"
        "NEEDLESS = {'pandas', 'tqdm', 'overrides.signature'}\n"
        "try:\n    main()\nfinally:\n    print(NEEDLESS & set(sys.modules), os.environ['LANCEDB_LOG'])"
    )
    command = [sys.executable, "-c", program, *arguments, str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != "LANCEDB_LOG"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert shown in done.stdout and done.stdout.splitlines()[-1] == "set() error"
