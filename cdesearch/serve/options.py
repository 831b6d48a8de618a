"""The options of a query as parameters of a route or of a tool, from the table in `cdesearch/search/options.py`."""

from collections.abc import Callable, Iterable, Iterator
from inspect import Parameter
from typing import Annotated, Any, Literal

from pydantic import Field

from cdesearch.search.options import PARAMETERS, Option
from cdesearch.search.request import K

MAX_REPEATED = 100  # values of a parameter that may be repeated


def parameters_of(
    describe: Callable[..., Any], *, repeats: bool, options: Iterable[Option] = PARAMETERS
) -> Iterator[Parameter]:
    """Yield a parameter for each option. `describe` is FastAPI's Query or pydantic's Field.

    Without `repeats`, an option that may be repeated has one value.
    """
    annotated: Any = Annotated  # with types that are computed
    types = {"number": int, "share": float, "text": str}
    for option in options:
        kind: Any = Literal[option.choices] if option.choices else types[option.kind]
        limits: dict[str, Any] = {"ge": option.least, "le": option.most_remote}
        if option.kind == "share":
            limits = {"ge": 0, "le": 1}
        elif option.kind != "number":
            limits = {} if option.most_remote is None else {"max_length": option.most_remote}
        if option.is_repeated and repeats:
            one: Any = annotated[kind, Field(**limits)]
            kind, limits = list[one], {"max_length": MAX_REPEATED}
        default = K if option.field == "k" else option.default
        described = describe(description=option.help, **limits)
        annotation = annotated[kind if default is not None else kind | None, described]
        yield Parameter(option.field, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def sentence_of(error: Any) -> str:
    """A validation error of pydantic as one sentence.

    An example is "The parameter k should be greater than or equal to 1, not 0."
    """
    name = next(part for part in reversed(error["loc"]) if isinstance(part, str))  # a number is a place in a list
    if error["type"] == "missing":
        return f"The parameter {name} is missing."
    what = str(error["msg"]).removeprefix("Input ").removeprefix("String ").partition(", unable")[0]
    return f"The parameter {name} {what}, not {str(error['input'])[:40]}."
