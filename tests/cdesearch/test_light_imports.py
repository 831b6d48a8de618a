import subprocess
import sys

import pytest

HEAVY = ("torch", "lancedb", "faiss", "transformers", "onnxruntime")


def loaded_after(code):
    program = f"import sys\n{code}\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "code",
    [
        "import cdesearch",
        "from cdesearch import Hit, CdesearchError",
        "import cdesearch.cli, indexer.command",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code):
    assert loaded_after(code).splitlines()[-1] == "[]"


def test_query_and_index_need_no_torch(tmp_path):
    (tmp_path / "a.md").write_text("# Cats\n\nA cat purrs.\n\n# Dogs\n\nA dog barks.\n")
    code = (
        f"import cdesearch\nhits = cdesearch.build({str(tmp_path)!r}).search('cat')\n"
        "assert hits[0].chunk.path == 'a.md'"
    )
    assert "torch" not in loaded_after(code).splitlines()[-1]


def test_the_public_face():
    import cdesearch

    assert sorted(cdesearch.__all__) == [
        "CdesearchError",
        "Chunk",
        "Embedder",
        "Hit",
        "OpenIndex",
        "__version__",
        "build",
        "open",
    ]
    assert all(getattr(cdesearch, name) for name in cdesearch.__all__)
