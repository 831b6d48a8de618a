"""What the protocol of builders promises is what the registered functions take."""

import inspect

import pytest

from cdesearch.builders import BUILDER, Builder

METHODS = [name for name in vars(Builder) if not name.startswith("_")]


@pytest.mark.parametrize("name", METHODS)
def test_each_method_is_registered_with_its_parameters(name):
    promised = list(inspect.signature(getattr(Builder, name)).parameters)[1:]  # without self
    taken = inspect.signature(getattr(BUILDER, name)).parameters
    accepts_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values())
    assert accepts_any or set(promised) == set(taken)
