"""Elementwise arithmetic of multi-limb integers, wherever they live: results in as many limbs as they need.

Knows limbs alone, and the verbs of their place; exponents only as distances. What has no verb is done on the host.
"""

from collections.abc import Callable, Sequence

import numpy as np

from exactla.backend import Buffer, Multiprecision
from exactla.core import limb_entries, limbs
from exactla.core.expansions import blocks
from exactla.core.limb_entries import bit_lengths, magnitudes
from exactla.core.limbs import LIMB, Limbs, extended, from_limbs, limbs_needed, to_limbs, trimmed
from exactla.core.long_buffers import with_limbs
from exactla.multiprecision.limits import check_room
from exactla.multiprecision.multiplying import Multiplication
from exactla.results import Rounding

HALF = 32
"""Bits of a factor that limbs are multiplied by in 64-bit arithmetic."""


def fitted(verbs: Multiprecision, x: Buffer) -> Buffer:
    """The same integers in the limbs that their bits ask for."""
    if isinstance(x, np.ndarray):
        return trimmed(x)
    count = verbs.most_bits(x) // LIMB + 1
    return x if count >= x.shape[-1] else verbs.scale(x, 0, count)


def common_unit(verbs: Multiprecision, sides: Sequence[tuple[Buffer, int]]) -> tuple[int, int]:
    """The exponent of the smaller unit, and limbs that hold both sides, their sum and their difference in it."""
    there = [(bits, e) for x, e in sides if (bits := verbs.most_bits(x))]
    if not there:
        return min(e for _, e in sides), 1
    exponent = min(e for _, e in there)
    top = max(bits + e for bits, e in there)
    return exponent, (top + 1 - exponent) // LIMB + 1


def in_unit(verbs: Multiprecision, x: Buffer, shift: int, count: int) -> Buffer:
    """The numbers x * 2**shift in so many limbs, which hold them; a negative shift is one of zeros."""
    if shift == 0 and count == x.shape[-1]:
        return x
    return verbs.scale(x, shift, count) if shift >= 0 else verbs.zeros((*x.shape[:-1], count))


def broadcast(verbs: Multiprecision, x: Buffer, shape: tuple[int, ...]) -> Buffer:
    """The entries in a shape that theirs broadcasts to."""
    own = x.shape[:-1]
    return x if own == shape else verbs.gather(x, np.broadcast_to(numbered(own), shape))


def numbered(shape: tuple[int, ...]) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """The place in C order of every entry of an array of this shape."""
    return np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)


def negated(verbs: Multiprecision, x: Buffer) -> Buffer:
    """-x."""
    if isinstance(x, np.ndarray):
        return trimmed(limbs.negated(_with_room(x)))
    return verbs.subtract(verbs.zeros((*x.shape[:-1], 1)), x, verbs.most_bits(x) // LIMB + 1)


def absolute(verbs: Multiprecision, x: Buffer) -> Buffer:
    """The absolute values of limbs [N, L]."""
    return _on_host(verbs, x, lambda y: trimmed(magnitudes(_with_room(y))[0]))


def _on_host(verbs: Multiprecision, x: Buffer, function: Callable[[Limbs], Limbs]) -> Buffer:
    return function(x) if isinstance(x, np.ndarray) else verbs.upload(function(verbs.download(x)))


def multiplied(verbs: Multiprecision, x: Buffer, factor: int) -> Buffer:
    """x * factor, for limbs [N, L]."""
    if isinstance(x, np.ndarray):
        return _multiplied(x, factor)
    right = verbs.upload(to_limbs([factor], limbs_needed([factor])))
    product, _ = Multiplication(verbs, verbs).product(x[:, None], right[None])
    return fitted(verbs, product.reshape(x.shape[0], product.shape[-1]))


def _multiplied(x: Limbs, factor: int) -> Limbs:
    if abs(factor) >> HALF:
        return _multiplied_long(x, factor)
    count = x.shape[-1] + 1
    check_room(len(x), count)
    magnitude, negative = magnitudes(x)
    wide = np.zeros((len(x), count), np.uint64)
    low, high = magnitude & np.uint64((1 << HALF) - 1), magnitude >> np.uint64(HALF)
    low *= np.uint64(abs(factor))
    high *= np.uint64(abs(factor))
    # low + high * 2**32, of which the upper half of high belongs to the next limb
    wide[:, :-1] = low
    found = limbs.added(wide, _joined(high << np.uint64(HALF), high >> np.uint64(HALF)))
    flip = negative != (factor < 0)
    found[flip] = limbs.negated(found[flip])
    return trimmed(found)


def _joined(low: Limbs, high: Limbs) -> Limbs:
    """low + high * 2**64, where that is a number of limbs without carries: high is below 2**32."""
    wide = np.zeros((len(low), low.shape[-1] + 1), np.uint64)
    wide[:, :-1] = low
    shifted = np.zeros_like(wide)
    shifted[:, 1:] = high
    return limbs.added(wide, shifted)


def _multiplied_long(x: Limbs, factor: int) -> Limbs:
    count = x.shape[-1] + factor.bit_length() // LIMB + 1
    check_room(len(x), count)
    return trimmed(to_limbs(from_limbs(x) * factor, count))


def rounded(verbs: Multiprecision, x: Buffer, precision: int, rounding: Rounding) -> Buffer:
    """Each integer of limbs [N, L] rounded to so many significant bits."""
    if isinstance(x, np.ndarray) or rounding is not Rounding.NEAREST:
        return _on_host(verbs, x, lambda y: _rounded(y, precision, rounding))
    room = (verbs.most_bits(x) + 1) // LIMB + 1
    return fitted(verbs, verbs.round_leading(with_limbs(verbs, x, max(room, x.shape[-1])), precision))


def _rounded(x: Limbs, precision: int, rounding: Rounding) -> Limbs:
    # the top bits differ where a magnitude that rounds up may come to the sign's
    top = x[..., -1] >> np.uint64(LIMB - 2)
    is_long = ((top == 1) | (top == 2)).any()
    wide = extended(x, x.shape[-1] + 1) if is_long else x.copy()
    for start, stop in blocks(*wide.shape):
        part = wide[start:stop]
        magnitude, negative = magnitudes(part)
        places = bit_lengths(magnitude) - precision
        long = np.flatnonzero(places > 0)
        if len(long):
            rows = np.ascontiguousarray(part[long])
            _round_rows(rows, magnitude[long], negative[long], places[long], rounding)
            part[long] = rows
    return trimmed(wide)


def _round_rows(
    rows: Limbs,
    magnitude: Limbs,
    negative: limb_entries.Flags,
    places: limb_entries.Ints,
    rounding: Rounding,
) -> None:
    """Bring integers to multiples of 2**place, in place."""
    kept = limb_entries.windows(magnitude, places - 1) >> np.uint64(1)
    up = limb_entries.rounded_windows(magnitude, negative, places, rounding) != kept
    below = _low_bits(magnitude, places)
    # towards zero, then a unit of the last place away from it
    cleared = limbs.subtracted(magnitude, below)
    limb_entries.accumulate(cleared, up.astype(np.uint64), places, np.zeros(len(rows), bool))
    rows[:] = np.where(negative[:, None], limbs.negated(cleared), cleared)


def _low_bits(magnitude: Limbs, places: limb_entries.Ints) -> Limbs:
    """Magnitudes modulo 2**place."""
    left = np.clip(places[:, None] - LIMB * np.arange(magnitude.shape[-1]), 0, LIMB)
    mask = np.where(left == LIMB, ~np.uint64(0), (np.uint64(1) << (left % LIMB).astype(np.uint64)) - np.uint64(1))
    return magnitude & mask


def _with_room(x: Limbs) -> Limbs:
    """In one limb more where the magnitude of the least integer would not fit."""
    least = np.uint64(1 << (LIMB - 1))
    return extended(x, x.shape[-1] + 1) if (x[..., -1] == least).any() else x
