import subprocess
import sys

import pytest

HIDE = """
import sys

LIBRARY = sys.argv.pop()

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == LIBRARY:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def without(library, program, *, code):
    run = subprocess.run([sys.executable, "-c", HIDE + program, library], capture_output=True, text=True, check=False)
    assert run.returncode == code
    return run.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llama_index", "llama_index", "llama-index"),
        ("mteb", "mteb", "mteb"),
    ],
)
def test_an_integration_without_its_library_names_the_extra(module, library, extra):
    error = without(library, f"import cdesearch.integrations.{module}", code=1)
    assert error.startswith(f"ModuleNotFoundError: {library}")
    assert error.endswith(f"is not installed. Run `pip install 'cdesearch[{extra}]'`.")


@pytest.mark.slow
def test_the_benchmarks_without_their_libraries_name_the_extra():
    program = "import runpy\nrunpy.run_module('benchmarks', run_name='__main__')"
    error = without("ir_measures", program, code=2)
    assert error == "error: ir_measures is not installed. Run `pip install -e '.[bench]'`."
