"""What must be known of the whole corpus before its context is made: sampled texts, token counts and languages."""

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from cdesearch.context.token_weights import TokenFrequencies
from cdesearch.encode.model_tokens import ModelTokens
from cdesearch.models.config import ModelConfig
from indexer.cluster.parts import Parts

WINDOWS_PER_TASK = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a scan looks for."""

    chunks: frozenset[str]  # ids of sampled chunks
    counted_one_in: int  # of so many texts, one has its tokens counted
    language_step: int  # of so many chunks of a window, one has its language detected
    tokenizer: str  # JSON
    config: ModelConfig


@dataclass(frozen=True, slots=True)
class Scan:
    """What was found in a range of windows."""

    sampled: dict[str, tuple[str, str]]  # content hash and text by chunk id
    frequencies: TokenFrequencies
    language_texts: list[str]


def scan(parts: Parts, wanted: Wanted) -> Scan:
    """Scan the windows of `parts`."""
    tokens = ModelTokens(Tokenizer.from_str(wanted.tokenizer), wanted.config)
    frequencies = tokens.frequencies([])
    sampled: dict[str, tuple[str, str]] = {}
    texts: list[str] = []
    for window in parts.windows(["id", "content_hash", "text"]):
        rows = list(zip(*(window[name].to_pylist() for name in window.schema.names), strict=True))
        sampled |= {chunk: (content, text) for chunk, content, text in rows if chunk in wanted.chunks}
        counted = [text for _, content, text in rows if int(content[:8], 16) % wanted.counted_one_in == 0]
        frequencies += tokens.frequencies(counted)
        texts += [text for _, _, text in rows[:: wanted.language_step]]
    return Scan(sampled, frequencies, texts)


def joined(scans: Sequence[Scan]) -> Scan:
    """The result of several ranges, in their order."""
    first = scans[0]
    for other in scans[1:]:
        first = Scan(
            first.sampled | other.sampled,
            first.frequencies + other.frequencies,
            first.language_texts + other.language_texts,
        )
    return first
