"""Add an entry to a text in JSON with comments, or remove it, and leave every other byte as it is."""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node

Section = tuple[str, ...]


def value_of(text: bytes) -> Any:
    """The value of a text, in which comments and a comma after the last item may be; {} if there is none.

    Raises ValueError.
    """
    root = _root(text)
    return {} if root is None else _value(root)


def added(text: bytes, section: Section, name: str, entry: dict[str, Any]) -> bytes:
    """The text with a new first member of the object that `section` names; raises ValueError if that is no object."""
    newline = b"\r\n" if b"\r\n" in text else b"\n"
    root = _root(text)
    if root is None:
        start = newline if text and not text.endswith(b"\n") else b""
        whole = json.dumps(_nested(section, {name: entry}), indent=2, ensure_ascii=False)
        return text + start + whole.encode().replace(b"\n", newline) + newline
    step = _indent(text, root) or b"  "
    at, depth = root, 0
    while depth < len(section) and (found := _pairs(at).get(section[depth])) is not None:
        at, depth = _object(found), depth + 1
    ((key, value),) = _nested(section[depth:], {name: entry}).items()
    member = f"{json.dumps(key)}: {json.dumps(value, indent=step.decode(), ensure_ascii=False)}".encode()
    pairs = _pairs(at)
    inside = text[at.start_byte + 1 : at.end_byte - 1]
    if pairs and b"\n" not in inside:
        return _with(text, at.start_byte + 1, json.dumps({key: value}, ensure_ascii=False).encode()[1:-1] + b", ")
    indent = _indent(text, at) or step * (depth + 1)
    end = b"," if pairs else b"" if inside.strip(b" \t").startswith((b"\n", b"\r")) else newline + step * depth
    return _with(text, at.start_byte + 1, newline + indent + member.replace(b"\n", newline + indent) + end)


def removed(text: bytes, section: Section, name: str) -> bytes:
    """The text without a member of the object that `section` names, which must have it."""
    at = _root(text)
    for key in section:
        assert at is not None
        at = _object(_pairs(at)[key])
    assert at is not None
    pair = _pairs(at)[name]
    # Comments stay, and so do the white space and the comma after an item before it, unless it was the last one.
    tokens = [one for one in at.children if one.type != "comment"]
    place = next(n for n, one in enumerate(tokens) if one.start_byte == pair.start_byte)
    before, after = tokens[place - 1], tokens[place + 1]
    start = max((one.end_byte for one in at.children if one.end_byte <= pair.start_byte), default=before.end_byte)
    end = after.end_byte if _is_comma(after) else pair.end_byte
    rest = text[:start] + text[end:]
    if _is_comma(before) and not _is_comma(after):
        return rest[: before.start_byte] + rest[before.end_byte :]
    return rest


def _root(text: bytes) -> "Node | None":
    """The object of a text; None for a text of comments alone. Raises ValueError."""
    import tree_sitter_json
    from tree_sitter import Language, Parser

    tree = Parser(Language(tree_sitter_json.language())).parse(text)
    values = [one for one in tree.root_node.children if one.type != "comment"]
    if not values:
        return None
    if len(values) > 1 or values[0].type != "object":
        raise ValueError("it is not one object")
    return values[0]


def _value(node: "Node") -> Any:
    if node.type == "object":
        return {key: _value(_last(pair)) for key, pair in _pairs(node).items()}
    if node.type == "array":
        return [_value(one) for one in _items(node)]
    return json.loads(node.text or b"")


def _pairs(node: "Node") -> dict[str, "Node"]:
    """The members of an object by their keys; raises ValueError."""
    return {json.loads(pair.children[0].text or b""): pair for pair in _items(node)}


def _items(node: "Node") -> list["Node"]:
    """The items of an object or an array; raises ValueError if there is anything else besides commas and comments."""
    items = [one for one in node.children if one.is_named and one.type not in ("comment", "ERROR")]
    errors = [one for one in node.children if one.type == "ERROR" and one.text != b","]
    wrong = [one for one in items if one.is_missing or (node.type == "object" and one.type != "pair")]
    if errors or wrong or node.children[-1].is_missing:
        line = (errors or wrong or [node])[0].start_point[0] + 1
        raise ValueError(f"line {line} is not valid JSON")
    return items


def _last(pair: "Node") -> "Node":
    return next(one for one in reversed(pair.children) if one.type != "comment")


def _object(pair: "Node") -> "Node":
    value = _last(pair)
    if value.type != "object":
        raise ValueError(f"{json.loads(pair.children[0].text or b'')} is not an object")
    return value


def _is_comma(node: "Node") -> bool:
    return node.text == b","


def _indent(text: bytes, node: "Node") -> bytes:
    """The white space before the first member of an object, if that begins its line."""
    first = next(iter(_pairs(node).values()), None)
    before = b"" if first is None else text[text.rfind(b"\n", 0, first.start_byte) + 1 : first.start_byte]
    return b"" if before.strip(b" \t") else before


def _nested(section: Section, value: dict[str, Any]) -> dict[str, Any]:
    for key in reversed(section):
        value = {key: value}
    return value


def _with(text: bytes, at: int, piece: bytes) -> bytes:
    return text[:at] + piece + text[at:]
