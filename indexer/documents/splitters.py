"""Choose the splitter of a text; code that cannot be parsed is split as plain text."""

from collections.abc import Callable
from functools import lru_cache, partial

from semantic_text_splitter import CodeSplitter, MarkdownSplitter, TextSplitter

from indexer.documents.parsing import parse_code

Splitter = TextSplitter | MarkdownSplitter | CodeSplitter
SplitterOf = Callable[[int], Splitter]  # from the number of characters that a piece may have


def splitter_for(text: str, layout: str, language: str | None) -> SplitterOf:
    """The splitter of `text` for any capacity; code that no grammar parses in time is split as plain text."""
    if layout == "code" and (language is None or parse_code(text, language) is None):
        return partial(_splitter, "text", None)
    return partial(_splitter, layout, language)


@lru_cache(maxsize=64)
def _splitter(layout: str, language: str | None, capacity: int) -> Splitter:
    if layout == "markdown":
        return MarkdownSplitter(capacity)
    if layout == "code":
        from tree_sitter_language_pack import get_binding

        return CodeSplitter(get_binding(language), capacity)  # type: ignore[arg-type]
    return TextSplitter(capacity)
