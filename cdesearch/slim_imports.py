"""Skip imports that the command line never uses and that would take most of its time, and the threads of OpenBLAS."""

import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

REST_CLIENT, FUNCTIONS, EMBEDDINGS = "lance_namespace_urllib3_client", "lancedb.functions", "lancedb.embeddings."
NEEDED = {f"{EMBEDDINGS}{name}" for name in ("base", "registry", "utils")}


def shorten_cold_start() -> None:
    """Leave out pandas, and what `prepare_libraries` leaves out."""
    prepare_libraries()
    leave_out_pandas()


def prepare_libraries() -> None:
    """Save the second that LanceDB takes to import its REST client, embedding models and functions of users.

    Only the command line does this: a program that imports `cdesearch` may need the client itself. The check of
    LanceDB's own methods against those that they override, which takes a tenth of a second, would find empty classes.

    Products of matrices use one thread from then on. On a busy machine, the threads of OpenBLAS wait for one another: a
    hybrid search takes half as long again, and the whitening of a build 5 to 13 s instead of 0.2 s.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy reads it when it is imported
    sys.meta_path.insert(0, _Empty())
    unchecked = ModuleType("overrides")
    unchecked.__dict__.update(override=lambda method: method, EnforceOverrides=object)
    sys.modules["overrides"] = unchecked


def leave_out_pandas() -> None:
    """Save the third of a second that pyarrow takes to import pandas. Only the command line does this."""
    sys.meta_path.insert(0, _NoPandas())


def allow_pandas() -> None:
    """Let pandas be imported again, for torch and its libraries, which some models need."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _NoPandas)]


class _Empty(MetaPathFinder, Loader):
    """Finds the modules that `prepare_libraries` names, and makes each of them empty."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        is_model = fullname.startswith(EMBEDDINGS) and fullname not in NEEDED
        is_empty = is_model or fullname == FUNCTIONS or fullname.partition(".")[0] == REST_CLIENT
        return ModuleSpec(fullname, self, is_package=True) if is_empty else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _EmptyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass  # an empty module has no code


class _NoPandas(MetaPathFinder, Loader):
    """Makes the import of pandas fail as if it were not installed: pyarrow works without it.

    None in sys.modules would have the same effect, but pyarrow's compiled code would use that None as the module.
    """

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname == "pandas" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        raise ModuleNotFoundError(f"{spec.name} is left out of this process.", name=spec.name)


class _EmptyModule(ModuleType):
    """A module that has an empty class under every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})
