"""Floating-point encodings, one or several to a number, to multi-limb integers and back, by their bits.

A number given by several components is their exact sum. Arrays are flat: N numbers.
"""

from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from exactla.core.decoding import decoded
from exactla.core.limb_entries import (
    Flags,
    Ints,
    accumulate,
    bit_lengths,
    magnitudes,
    rounded_windows,
    trailing_zeros,
    word_bits,
)
from exactla.core.limbs import LIMB, Limbs
from exactla.formats import FLOAT64, FloatFormat, Format
from exactla.results import Rounding

Words = NDArray[np.uint64]

BLOCK = 1 << 16
"""Limbs that are worked on at a time: they stay in the cache."""

_FAR = 1 << 40
"""More bits than an array has: exponents beyond it all round alike."""


class Extent(NamedTuple):
    """Sums of components are multiples of 2**exponent, and limbs that hold all of them."""

    exponent: int
    limbs: int


class Expansions(Protocol):
    """Functions of this module, perhaps by something faster: see there."""

    def first_not_finite(self, words: NDArray[Any], format: Format) -> int: ...
    def first_overlap(self, words: Words) -> int: ...
    def extent(self, words: NDArray[Any], format: Format) -> Extent: ...
    def sums(self, words: NDArray[Any], format: Format, needed: Extent) -> Limbs: ...
    def components(self, limbs: Limbs, exponent: int, count: int) -> Words: ...


def extent(words: NDArray[Any], format: Format) -> Extent:
    """What the sums of each row of encodings [N, components] need, for components that do not overlap."""
    lowest, highest = [], []
    for start, stop in blocks(*words.shape):
        part = decoded(words[start:stop].reshape(-1), format)
        there = np.flatnonzero(part.significand)
        if len(there):
            significand, exponent = part.significand[there], part.exponent[there]
            lowest.append(int((exponent + trailing_zeros(significand)).min()))
            highest.append(int((exponent + word_bits(significand)).max()))
    if not lowest:
        return Extent(0, 1)
    # below 2**(highest + 1) in magnitude
    return Extent(min(lowest), (max(highest) + 1 - min(lowest)) // LIMB + 1)


def sums(words: NDArray[Any], format: Format, needed: Extent) -> Limbs:
    """Limbs [N, L] of the sum of each row of encodings [N, components], in units of 2**needed.exponent."""
    found = np.zeros((len(words), needed.limbs), np.uint64)
    for start, stop in blocks(*found.shape):
        for column in words[start:stop].T:
            part = decoded(np.ascontiguousarray(column), format)
            places = part.exponent - needed.exponent
            below = np.minimum(places, 0)  # bits of 0
            significand = part.significand >> (-below).astype(np.uint64)
            accumulate(found[start:stop], significand, places - below, part.negative)
    return found


def encodings(limbs: Limbs, exponent: int, format: FloatFormat, rounding: Rounding) -> Words:
    """Encodings of integer * 2**exponent, rounded once, as `mm` rounds."""
    found = np.empty(len(limbs), np.uint64)
    for start, stop in blocks(*limbs.shape):
        magnitude, negative = magnitudes(limbs[start:stop])
        found[start:stop] = _rounded(magnitude, negative, exponent, format, rounding).encodings
    return found


def components(limbs: Limbs, exponent: int, count: int) -> Words:
    """Float64 encodings [N, count]: each the nearest value, ties to even, to what those before it have left."""
    found = np.empty((len(limbs), count), np.uint64)
    for start, stop in blocks(*limbs.shape):
        left = limbs[start:stop].copy()
        for place in range(count):
            magnitude, negative = magnitudes(left)
            rounded = _rounded(magnitude, negative, exponent, FLOAT64, Rounding.NEAREST)
            found[start:stop, place] = rounded.encodings
            if place + 1 < count:
                below = np.minimum(rounded.places, 0)
                accumulate(left, rounded.kept >> (-below).astype(np.uint64), rounded.places - below, ~negative)
    return found


class _Rounded(NamedTuple):
    encodings: Words
    kept: Words
    """The rounded magnitude in units of 2**place of the integers' own unit."""
    places: Ints


def _rounded(magnitude: Limbs, negative: Flags, exponent: int, format: FloatFormat, rounding: Rounding) -> _Rounded:
    lengths = bit_lengths(magnitude)
    unit = max(-_FAR, min(_FAR, exponent))
    # the place of the last bit that the format keeps of a magnitude of this length
    places = np.maximum(lengths - format.precision, format.least_exponent - unit)
    kept = rounded_windows(magnitude, negative, places, rounding)
    # encodings are contiguous from zero on: significand and exponent field as one number
    field = np.minimum(places + unit - format.least_exponent, 1 << format.exponent_bits)
    found = kept + (field.astype(np.uint64) << np.uint64(format.fraction_bits))
    found[lengths == 0] = 0
    over = found > np.uint64(format.largest)
    if over.any():
        found[over] = _beyond(negative[over], format, rounding)
    signed = negative if format.signed_zero else negative & (found != 0)
    if format.infinity is None:
        signed &= found != format.nan
    return _Rounded(found | signed.astype(np.uint64) << np.uint64(format.bits - 1), kept, places)


def _beyond(negative: Flags, format: FloatFormat, rounding: Rounding) -> Words:
    """Magnitudes of what lies past the largest finite value."""
    infinity = format.nan if format.infinity is None else format.infinity
    if rounding is Rounding.NEAREST:
        return np.full(len(negative), infinity, np.uint64)
    outward = np.zeros(len(negative), bool) if rounding is Rounding.ZERO else negative == (rounding is Rounding.DOWN)
    return np.where(outward, np.uint64(infinity), np.uint64(format.largest))


def first_not_finite(words: NDArray[Any], format: Format) -> int:
    """The first encoding, in C order, that is a NaN or an infinity; -1 for none."""
    flat = words.reshape(-1)
    for start, stop in blocks(len(flat), 1):
        finite = decoded(flat[start:stop], format).finite
        if not finite.all():
            return start + int((~finite).argmax())
    return -1


def first_overlap(words: Words) -> int:
    """The first row of float64 encodings with a component of one unit in the last place of that before it, or more.

    After a component of 0 there are only such. -1 where there is none.
    """
    for start, stop in blocks(*words.shape):
        parts = [decoded(np.ascontiguousarray(column), FLOAT64) for column in words[start:stop].T]
        wrong = np.zeros(stop - start, bool)
        for upper, lower in pairwise(parts):
            wide = lower.exponent + word_bits(lower.significand) > upper.exponent
            wrong |= (lower.significand != 0) & (wide | (upper.significand == 0))
        if wrong.any():
            return start + int(wrong.argmax())
    return -1


def blocks(entries: int, count: int) -> list[tuple[int, int]]:
    """Ranges of entries of so many limbs that are worked on together."""
    step = max(1, BLOCK // count)
    return [(start, min(start + step, entries)) for start in range(0, entries, step)]
