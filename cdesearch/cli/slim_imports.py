"""A process that answers one query lives for a second: imports that it never uses are left out."""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

REST_CLIENT = "lance_namespace_urllib3_client"


def shorten_cold_start(model: str | None) -> None:
    """Spare this process the imports of LanceDB's REST client, a second, and of pandas, a quarter of one.

    For the command line alone: a program that imports `cdesearch` may itself want them. `model` is the one that the
    index names. pandas is left out only for the model that ships, for torch's own imports look for pandas; the folder
    of another model is not looked at here, as its user may not have confirmed it.
    """
    sys.meta_path.insert(0, _EmptyRestClient())
    if model is None:
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
