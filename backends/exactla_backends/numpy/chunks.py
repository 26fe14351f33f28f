"""Cuts elementwise work into pieces that stay in the cache."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

CHUNK = 1 << 14
"""Entries of a piece: a few planes of int64 for each stay within a second-level cache."""


def chunks(shape: Sequence[int], size: int = CHUNK) -> Iterator[tuple[slice, ...]]:
    """Index tuples that cover an array of that shape, each of at most `size` entries; none where it is empty."""
    if 0 < prod(shape) <= size:
        return iter([tuple(slice(0, length) for length in shape)])
    steps = []
    for length in reversed(shape):
        step = max(1, min(length, size))
        steps.append([slice(i, min(i + step, length)) for i in range(0, length, step)])
        size = size // step if step == length else 1
    return product(*reversed(steps))
