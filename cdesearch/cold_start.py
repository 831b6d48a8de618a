"""Imports that the processes of the command line never use, and that would take most of their time."""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

REST_CLIENT = "lance_namespace_urllib3_client"


def shorten_cold_start(model: str | None) -> None:
    """Leave out LanceDB's REST client, and pandas where the index that is read names the model that ships.

    torch, which other models may need, looks for pandas. The folder of another model is not looked at here, because its
    user may not have confirmed it.
    """
    leave_out_rest_client()
    if model is None:
        leave_out_pandas()


def leave_out_rest_client() -> None:
    """Save the second that LanceDB takes to import its REST client.

    For processes of the command line alone: a program that imports `cdesearch` may want the client itself.
    """
    sys.meta_path.insert(0, _EmptyRestClient())


def leave_out_pandas() -> None:
    """Save the third of a second that pyarrow takes to import pandas; also for processes of the command line alone."""
    sys.meta_path.insert(0, _NoPandas())


class _EmptyRestClient(MetaPathFinder, Loader):
    """Finds the REST client's modules, all empty."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """A spec for the REST client; None for every other module."""
        return ModuleSpec(fullname, self, is_package=True) if fullname.partition(".")[0] == REST_CLIENT else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module in which every class that is asked for exists."""
        return _EmptyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


class _NoPandas(MetaPathFinder, Loader):
    """Finds pandas, whose import then fails as a missing module's does: pyarrow works without it.

    None in sys.modules would say the same, but pyarrow's compiled code takes that None for the module.
    """

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """A spec for pandas; None for every other module."""
        return ModuleSpec(fullname, self) if fullname == "pandas" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Raise ModuleNotFoundError."""
        raise ModuleNotFoundError(f"{spec.name} is left out of this process.", name=spec.name)


class _EmptyModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})
