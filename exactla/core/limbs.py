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
    shape = integers.shape if isinstance(integers, np.ndarray) else (len(integers),)
    flat: Sequence[int] = integers.ravel().tolist() if isinstance(integers, np.ndarray) else integers
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


def resized(limbs: Limbs, count: int) -> Limbs:
    """The same integers modulo 2**(64 count) in `count` limbs; a view where that is no more than before."""
    return limbs[..., :count] if count < limbs.shape[-1] else extended(limbs, count)


def signs(limbs: Limbs) -> Limbs:
    """All ones where an integer is negative, else 0."""
    found: NDArray[Any] = limbs[..., -1].view(np.int64) >> (LIMB - 1)
    return np.asarray(found).view(np.uint64)


def trimmed(limbs: Limbs) -> Limbs:
    """The same integers in the least number of limbs that holds them all."""
    count = limbs.shape[-1]
    while count > 1 and (limbs[..., count - 1] == signs(limbs[..., : count - 1])).all():
        count -= 1
    return limbs if count == limbs.shape[-1] else np.ascontiguousarray(limbs[..., :count])


def added(x: Limbs, y: Limbs) -> Limbs:
    """x + y modulo 2**(64 L), for limbs of equal count."""
    total = np.add(x, y, order="C")
    _carry(total, total < y, 1)
    return total


def subtracted(x: Limbs, y: Limbs) -> Limbs:
    """x - y modulo 2**(64 L), for limbs of equal count."""
    difference = np.subtract(x, y, order="C")
    _carry(difference, x < y, -1)
    return difference


def negated(limbs: Limbs) -> Limbs:
    """-x modulo 2**(64 L)."""
    found = np.ascontiguousarray(~limbs)
    lowest = found[..., 0]
    lowest += np.uint64(1)
    out = np.zeros(found.shape, bool)
    out[..., 0] = lowest == 0
    _carry(found, out, 1)
    return found


def shifted_up(limbs: Limbs, bits: int, count: int) -> Limbs:
    """x * 2**bits modulo 2**(64 count), for count >= L."""
    whole, part = divmod(bits, LIMB)
    wide = extended(limbs, count)
    found = np.zeros(wide.shape, np.uint64)
    found[..., whole:] = wide[..., : max(count - whole, 0)]
    if part:
        below = found[..., :-1] >> np.uint64(LIMB - part)
        found <<= np.uint64(part)
        found[..., 1:] |= below
    return found


def shifted_down(limbs: Limbs, bits: int) -> Limbs:
    """floor(x / 2**bits) in as few limbs as its shift leaves for sure, at least one."""
    whole, part = divmod(bits, LIMB)
    count = limbs.shape[-1]
    if whole >= count:
        return signs(limbs)[..., None].copy()
    found = limbs[..., whole:].copy()
    if part:
        above = found[..., 1:] << np.uint64(LIMB - part)
        top = (found[..., -1].view(np.int64) >> part).view(np.uint64)
        found >>= np.uint64(part)
        found[..., :-1] |= above
        found[..., -1] = top
    return found


def compared(x: Limbs, y: Limbs) -> NDArray[np.int8]:
    """The signs of x - y, for limbs of equal count."""
    differ = x != y
    # the highest limb that differs decides; the lowest where none does
    place = x.shape[-1] - 1 - np.argmax(differ[..., ::-1], axis=-1, keepdims=True)
    left, right = (np.take_along_axis(v, place, axis=-1)[..., 0] for v in (x, y))
    top = place[..., 0] == x.shape[-1] - 1
    is_less = np.where(top, left.view(np.int64) < right.view(np.int64), left < right)
    return np.asarray(np.where(left == right, 0, np.where(is_less, -1, 1)), np.int8)


def _carry(limbs: Limbs, out: NDArray[np.bool_], step: int) -> None:
    """Add step = 1 or -1 to the limb above each that `out` marks, and go on where it passes 0, in place."""
    count = limbs.shape[-1]
    flat = limbs.reshape(-1)
    places = np.flatnonzero(out) + 1
    passed = np.uint64(0) if step == 1 else ~np.uint64(0)
    while len(places := places[places % count != 0]):
        values = flat[places] + np.array(step).astype(np.int64).view(np.uint64)
        flat[places] = values
        places = places[values == passed] + 1
