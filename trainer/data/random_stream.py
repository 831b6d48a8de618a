"""Independent random numbers for each purpose of a run."""

from hashlib import blake2b

import numpy as np


def random_stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """The generator of one purpose, named by a word and the numbers of its epoch, step or domain.

    Two purposes never share a stream, because name and numbers are hashed together. Plain lists of seeds would collide:
    NumPy's SeedSequence treats (0, 3) and (0, 3, 0) alike.
    """
    digest = blake2b(repr((seed, name, *numbers)).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
