"""Elementwise arithmetic of multi-limb integers: results in as many limbs as they need.

Knows limbs alone; exponents only as distances.
"""

from collections.abc import Sequence

import numpy as np

from exactla.core import limb_entries, limbs
from exactla.core.expansions import blocks
from exactla.core.limb_entries import bit_lengths, magnitudes
from exactla.core.limbs import LIMB, Limbs, extended, from_limbs, shifted_up, to_limbs, trimmed
from exactla.multiprecision.limits import check_room
from exactla.results import Rounding

is_less = limbs.is_less

HALF = 32
"""Bits of a factor that limbs are multiplied by in 64-bit arithmetic."""


def most_bits(x: Limbs) -> int:
    """Length of the longest magnitude of limbs [N, L]."""
    return max((int(bit_lengths(magnitudes(x[a:b])[0]).max()) for a, b in blocks(*x.shape)), default=0)


def common_unit(sides: Sequence[tuple[Limbs, int]]) -> tuple[int, int]:
    """The smaller exponent, and limbs that hold both sides in units of it, and their sum and difference."""
    there = [(x, e) for x, e in sides if x.any()]
    if not there:
        return min(e for _, e in sides), 1
    exponent = min(e for _, e in there)
    top = max(LIMB * x.shape[-1] + e for x, e in there)
    return exponent, -(-(top + 1 - exponent) // LIMB)


def in_unit(x: Limbs, exponent: int, unit: int, count: int) -> Limbs:
    """The numbers x * 2**exponent in units of 2**unit, in so many limbs, for a unit of `common_unit`."""
    if not x.any():
        return np.zeros((*x.shape[:-1], count), np.uint64)
    return shifted_up(x, exponent - unit, count)


def added(x: Limbs, y: Limbs) -> Limbs:
    """x + y, for limbs that hold it."""
    return trimmed(limbs.added(x, y))


def subtracted(x: Limbs, y: Limbs) -> Limbs:
    """x - y, for limbs that hold it."""
    return trimmed(limbs.subtracted(x, y))


def negated(x: Limbs) -> Limbs:
    """-x."""
    return trimmed(limbs.negated(_with_room(x)))


def absolute(x: Limbs) -> Limbs:
    """The absolute values of limbs [N, L]."""
    return trimmed(magnitudes(_with_room(x))[0])


def multiplied(x: Limbs, factor: int) -> Limbs:
    """x * factor, for limbs [N, L]."""
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


def rounded(x: Limbs, precision: int, rounding: Rounding) -> Limbs:
    """Each integer of limbs [N, L] rounded to so many significant bits."""
    wide = _with_room(x).copy()
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
