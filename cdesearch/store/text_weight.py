"""The weight of text that `cdesearch tune` has chosen for one index, in a file beside the generations.

Updates and rebuilds keep it, and the next query reads it.
"""

import json
import math
from pathlib import Path

from cdesearch.errors import IndexDamagedError
from cdesearch.store.folder import check_marker, replace_file
from cdesearch.store.guard import read_small, unreadable
from cdesearch.store.layout import TUNING
from cdesearch.store.place import Place
from cdesearch.store.write_errors import write_error

MAX_WEIGHT = 1_000.0  # a forged index can hold any value


def read_text_weight(place: Place) -> float | None:
    """Return the weight of the index at `place`; None if it uses the default. Raises IndexStateError."""
    if not isinstance(place, Path):
        return None
    file = place / TUNING
    try:
        weight = json.loads(read_small(file))["text_weight"]
        if type(weight) not in (int, float) or not (math.isfinite(weight) and 0 < weight <= MAX_WEIGHT):
            raise ValueError
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(file, error) from None
    except (ValueError, LookupError, TypeError, RecursionError):
        raise IndexDamagedError(
            f"{file} does not hold a weight of text.", "Run `cdesearch tune --reset` to remove it."
        ) from None
    return float(weight)


def write_text_weight(folder: Path, weight: float | None) -> None:
    """Store the weight for the index in `folder`, or with None remove it. Raises IndexStateError and StorageError."""
    check_marker(folder)
    file = folder / TUNING
    try:
        if weight is None:
            file.unlink(missing_ok=True)
        else:
            replace_file(file, json.dumps({"text_weight": weight}) + "\n")
    except OSError as error:
        raise write_error(folder, error) from None
