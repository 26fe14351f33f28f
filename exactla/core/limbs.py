"""Integers of many limbs: uint64 arrays [*shape, L] in two's complement, the least significant limb first.

Knows NumPy and Python integers, and nothing of exponents or rounding.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMB = 64
OCTETS = LIMB // 8

Limbs = NDArray[np.uint64]
"""[*shape, L]."""


def limbs_needed(integers: Iterable[int]) -> int:
    """The least number of limbs that hold each of some integers in two's complement; 1 for none."""
    return max((_signed_bits(v) for v in integers), default=1) // LIMB + 1


def _signed_bits(value: int) -> int:
    """Bits of two's complement without its sign: -2**b <= value < 2**b."""
    return (value if value >= 0 else ~value).bit_length()


def to_limbs(integers: Sequence[int] | NDArray[np.object_], count: int) -> Limbs:
    """Limbs [*shape, count] of integers in -2**(64 count - 1) .. 2**(64 count - 1) - 1.

    Raises
    ------
    OverflowError
        An integer needs more limbs.
    """
    if isinstance(integers, np.ndarray):
        shape, flat = integers.shape, integers.ravel().tolist()
    else:
        shape, flat = (len(integers),), integers
    width = count * OCTETS
    text = b"".join([v.to_bytes(width, "little", signed=True) for v in flat])
    return np.frombuffer(bytearray(text), "<u8").astype(np.uint64, copy=False).reshape(*shape, count)


def from_limbs(limbs: Limbs) -> NDArray[np.object_]:
    """The Python integers, an object array of the shape before the last axis."""
    shape, width = limbs.shape[:-1], limbs.shape[-1] * OCTETS
    if width == OCTETS:
        return np.asarray(limbs[..., 0].view(np.int64).astype(object), object)
    text = np.ascontiguousarray(limbs).astype("<u8", copy=False).tobytes()
    found = np.empty(len(text) // width, object)
    found[:] = [int.from_bytes(text[i : i + width], "little", signed=True) for i in range(0, len(text), width)]
    return found.reshape(shape)


def extended(limbs: Limbs, count: int) -> Limbs:
    """The same integers in `count` limbs, no fewer than before; not copied where it is as many."""
    held = limbs.shape[-1]
    if held == count:
        return limbs
    found = np.empty((*limbs.shape[:-1], count), np.uint64)
    found[..., :held] = limbs
    found[..., held:] = signs(limbs)[..., None]
    return found


def signs(limbs: Limbs) -> Limbs:
    """All ones where an integer is negative, else 0."""
    found: NDArray[Any] = limbs[..., -1].view(np.int64) >> (LIMB - 1)
    return np.asarray(found).view(np.uint64)
