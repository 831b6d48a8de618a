"""Long loops over texts that can be stopped: by the function that is told of their progress, if it raises."""

from collections.abc import Callable, Iterable, Iterator

EVERY = 4096  # texts between two calls


def interruptible(texts: Iterable[str], advance: Callable[[int], object]) -> Iterator[str]:
    """The `texts`; `advance` is called with 0 now and then, because the loop completes no unit of its stage."""
    for number, text in enumerate(texts):
        if number % EVERY == 0:
            advance(0)
        yield text
