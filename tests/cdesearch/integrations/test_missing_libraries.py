import pytest
from hidden_libraries import run_code_without, run_module_without

from cdesearch.errors import extra_remedy


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llama_index", "llama_index", "llama-index"),
        ("mteb", "mteb", "mteb"),
    ],
)
def test_an_integration_without_its_library_names_the_extra(module, library, extra, tmp_path):
    run = run_code_without(library, f"import cdesearch.integrations.{module}", cwd=tmp_path)
    assert run.returncode == 1
    error = run.stderr.splitlines()[-1]
    assert error.startswith(f"ModuleNotFoundError: {library}")
    assert error.endswith(f"is not installed. {extra_remedy(extra)}")


@pytest.mark.slow
@pytest.mark.parametrize("absent", ["ir_measures", "torch", "scipy", "typer"])
def test_the_benchmarks_without_their_libraries_name_the_extra(absent, tmp_path):
    run = run_module_without(absent, "benchmarks", "--help", cwd=tmp_path)
    expected = f"error: {absent} is not installed. Run `pip install -e '.[bench]'`.\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", expected)
