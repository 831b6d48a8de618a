"""Parse JSON from files that may be hostile."""

import json
from typing import Any

LARGE = 1_000_000  # bytes; smaller data cannot contain too many values
MAX_VALUES = 3_000_000  # an empty list of three bytes takes 60 in memory


def parse_json(data: bytes) -> Any:
    """The value in `data`; raises ValueError, also if it is nested too deep or has too many values.

    A number of thousands of digits, which Python refuses to convert, becomes a float.
    """
    if len(data) > LARGE and sum(data.count(sign) for sign in b"[{,") > MAX_VALUES:
        raise ValueError(f"more than {MAX_VALUES:,} values")
    try:
        return json.loads(data, parse_int=_number)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _number(digits: str) -> float:
    return int(digits) if len(digits) < 1000 else float(digits)
