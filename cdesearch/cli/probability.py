"""Read a probability, which people type as a number or, as it is shown, as a percentage."""

import typer

WANTED = "a number from 0 to 1, or a percentage such as 30%"


def parse_probability(given: str | float) -> float:
    """Return the probability that is typed as 0.3 or 30%, or is a number of a configuration file.

    Raises typer's error for anything else.
    """
    number = str(given).strip()
    try:
        value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        value = float("nan")
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"must be {WANTED}, not {number[:40]}")
    return value
