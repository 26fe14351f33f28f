"""Arrays of multi-limb integers entry by entry: where their bits are, reading a few of them, adding a word at a place.

Arrays are [N, L], uint64 and contiguous; magnitudes are unsigned. Knows nothing of exponents.
"""

import numpy as np
from numpy.typing import NDArray

from exactla.core.limbs import LIMB, Limbs, negated, signs
from exactla.results import Rounding

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NO_BITS = 1 << 60
"""What stands for the lowest bit of 0."""


def magnitudes(limbs: Limbs) -> tuple[Limbs, Flags]:
    """A copy of the absolute values, and which integers are negative."""
    negative = signs(limbs) != 0
    found = limbs.copy()
    if negative.any():
        found[negative] = negated(limbs[negative])
    return found, negative


def bit_lengths(magnitudes: Limbs) -> Ints:
    """Bits of each magnitude, 0 for 0."""
    count = magnitudes.shape[-1]
    top = count - 1 - np.argmax(magnitudes[:, ::-1] != 0, axis=1)
    words = _words(magnitudes, top)
    return np.asarray(np.where(words != 0, LIMB * top + word_bits(words), 0))


def lowest_bits(magnitudes: Limbs) -> Ints:
    """Position of the lowest bit that is 1 in each magnitude, or in two's complement; NO_BITS for 0."""
    low = np.argmax(magnitudes != 0, axis=1)
    words = _words(magnitudes, low)
    return np.asarray(np.where(words != 0, LIMB * low + trailing_zeros(words), NO_BITS))


def windows(magnitudes: Limbs, places: Ints) -> NDArray[np.uint64]:
    """The 64 bits from each place on, floor(m / 2**place) modulo 2**64; places are above -64."""
    whole, part = places >> 6, (places & (LIMB - 1)).astype(np.uint64)
    low, high = _words(magnitudes, whole), _words(magnitudes, whole + 1)
    return np.asarray((low >> part) | ((high << (np.uint64(LIMB - 1) - part)) << np.uint64(1)))


def rounded_windows(magnitudes: Limbs, negative: Flags, places: Ints, rounding: Rounding) -> NDArray[np.uint64]:
    """m / 2**place rounded to an integer, m the magnitude of a number whose sign decides the direction.

    The result is below 2**64, and places are above -64; those past the limbs may be any.
    """
    count = magnitudes.shape[-1]
    places = np.minimum(places, LIMB * count + 1)
    kept = windows(magnitudes, places)
    lowest = lowest_bits(magnitudes)
    if rounding is Rounding.NEAREST:
        half = windows(magnitudes, np.maximum(places - 1, 0)) & np.uint64(1)
        above = (lowest < places - 1) | (kept & np.uint64(1) != 0)
        up = (places > 0) & (half != 0) & above
    elif rounding is Rounding.ZERO:
        return kept
    else:
        up = (lowest < places) & (negative == (rounding is Rounding.DOWN))
    return np.asarray(kept + up.astype(np.uint64))


def accumulate(limbs: Limbs, words: NDArray[np.uint64], places: Ints, negative: Flags) -> None:
    """limbs += words * 2**places, subtracted where negative, modulo 2**(64 L), in place; places are not negative."""
    whole, part = places >> 6, (places & (LIMB - 1)).astype(np.uint64)
    pieces = words << part, (words >> (np.uint64(LIMB - 1) - part)) >> np.uint64(1)
    count = limbs.shape[-1]
    flat = limbs.reshape(-1)
    first = np.arange(len(limbs)) * count
    over = np.zeros(len(limbs), np.uint64)
    for offset, piece in enumerate(pieces):
        places = whole + offset
        over = _add_words(flat, first, places, count, piece, over, negative)
    _propagate(flat, first, whole + 2, count, over, negative)


def _add_words(
    flat: NDArray[np.uint64],
    first: NDArray[np.intp],
    places: Ints,
    count: int,
    words: NDArray[np.uint64],
    carries: NDArray[np.uint64],
    negative: Flags,
) -> NDArray[np.uint64]:
    """Add, or subtract where negative, words and carries at a limb of each entry; the carries out of it."""
    inside = places < count
    at = first + np.where(inside, places, 0)
    old = flat[at]
    partial = np.where(negative, old - words, old + words)
    over = np.where(negative, old < words, partial < words)
    new = np.where(negative, partial - carries, partial + carries)
    over |= np.where(negative, partial < carries, new < carries)
    flat[at] = np.where(inside, new, old)
    return np.asarray((over & inside).astype(np.uint64))


def _propagate(
    flat: NDArray[np.uint64],
    first: NDArray[np.intp],
    places: Ints,
    count: int,
    carries: NDArray[np.uint64],
    negative: Flags,
) -> None:
    rows = np.flatnonzero(carries)
    places = places[rows]
    while True:
        inside = places < count
        rows, places = rows[inside], places[inside]
        if not len(rows):
            return
        at = first[rows] + places
        old = flat[at]
        below = negative[rows]
        flat[at] = np.where(below, old - np.uint64(1), old + np.uint64(1))
        goes_on = old == np.where(below, np.uint64(0), ~np.uint64(0))
        rows, places = rows[goes_on], places[goes_on] + 1


def _words(limbs: Limbs, places: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A limb of each entry, 0 past either end."""
    count = limbs.shape[-1]
    at = np.arange(len(limbs)) * count + np.clip(places, 0, count - 1)
    words = limbs.reshape(-1)[at]
    return np.asarray(np.where((places >= 0) & (places < count), words, np.uint64(0)))


def word_bits(words: NDArray[np.uint64]) -> Ints:
    """Bits of each word, 0 for 0."""
    smeared = words.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        smeared |= smeared >> np.uint64(shift)
    return np.bitwise_count(smeared).astype(np.int64)


def trailing_zeros(words: NDArray[np.uint64]) -> Ints:
    """Position of the lowest 1 of each word, 64 for 0."""
    return np.asarray(np.bitwise_count((words & -words) - np.uint64(1)).astype(np.int64))
