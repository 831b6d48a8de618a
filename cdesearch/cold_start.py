"""A process that answers one query lives for a second: what it would import and never use is left out."""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

REST_CLIENT = "lance_namespace_urllib3_client"
PANDAS = "pandas"  # pyarrow imports it where it is installed, and does without


def leave_out_what_no_query_uses() -> None:
    """Spare this process the imports of LanceDB's REST client, a second, and of pandas, a quarter of one.

    For the command line alone: a program that imports `cdesearch` may itself want them.
    """
    sys.meta_path.insert(0, _LeftOut())


class _LeftOut(MetaPathFinder, Loader):
    """Finds the REST client's modules, all empty, and no pandas."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """Ours for the REST client, nobody's for the rest; raises ModuleNotFoundError for pandas."""
        if fullname == PANDAS:
            raise ModuleNotFoundError(f"{fullname} is left out.", name=fullname)
        if fullname.partition(".")[0] != REST_CLIENT:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that has every class that is asked for."""
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is to be run."""


class _Empty(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})
