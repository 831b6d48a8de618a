"""The text of a line of mdoc(7), the macros of the manual pages of BSD, which may call each other within a line."""

from collections.abc import Sequence

# Macros that only change the font, or say what their arguments are.
MARKING = {
    "Ad", "An", "Ar", "Bx", "Cd", "Cm", "Dv", "Dx", "Em", "Er", "Ev", "Fa", "Fl", "Fn", "Fo", "Ft", "Fx", "Ic", "In",
    "Li", "Lk", "Ms", "Mt", "Nd", "Nm", "No", "Ns", "Nx", "Ox", "Pa", "Sx", "Sy", "Tn", "Ux", "Va", "Vt", "Xr",
    "Dl", "D1", "St",
}  # fmt: skip
ENCLOSING = {
    "Op": "[]", "Bq": "[]", "Dq": '""', "Qq": '""', "Sq": "''", "Ql": "''", "Pq": "()", "Aq": "<>", "Brq": "{}",
}  # fmt: skip
MACROS = MARKING | ENCLOSING.keys()
CLOSING, OPENING = {".", ",", ":", ";", ")", "]", "?", "!"}, {"(", "["}


def in_line(words: Sequence[str], name: str) -> str:
    """The text of macros and their arguments, such as "[-l file]"; `name` is what the page is about."""
    text, closing = "", ""
    macro = ""  # the last one, whose arguments follow
    is_joined = True  # whether the next word follows without a blank
    if words == ["Nm"]:
        return name
    for word in words:
        if word in MACROS:
            if word == "Ns":
                is_joined = True
                continue
            shown = {"Fl": "-", "Nd": "-"}.get(word, ENCLOSING.get(word, "")[:1])
            closing = ENCLOSING.get(word, "")[1:] + closing
            text += shown if is_joined or not shown else f" {shown}"
            is_joined = (bool(shown) and word != "Nd") or (is_joined and not shown)
            macro = word
        elif macro == "Xr" and word[:1].isdigit():
            text += f"({word})"
            macro = ""
        else:
            text += word if is_joined or word in CLOSING else f" {word}"
            is_joined = word in OPENING
    return text + closing
