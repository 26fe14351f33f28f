"""Arrays of multi-limb integers entry by entry: where their bits are, reading a few of them, adding a word at a place.

Arrays are [N, L], uint64 and contiguous; magnitudes are unsigned. Knows nothing of exponents.
"""

import numpy as np
from numpy.typing import NDArray

from exactla.core.limbs import LIMB, Limbs, negated, signs
from exactla.results import Rounding

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FEW = 16
"""Limbs that are looked through one after the other."""

NO_BITS = 1 << 60
"""What stands for the lowest bit of 0."""


def magnitudes(limbs: Limbs) -> tuple[Limbs, Flags]:
    """A copy of the absolute values of limbs [*shape, L], and which integers are negative."""
    sign = signs(limbs)
    # two's complement: all bits flipped, and 1 added
    found = limbs ^ sign[..., None]
    lowest = found[..., 0]
    lowest -= sign
    out = lowest < (sign & np.uint64(1))
    if out.any():
        found[out] = negated(limbs[out])
    return found, sign != 0


def bit_lengths(magnitudes: Limbs) -> Ints:
    """Bits of each magnitude, 0 for 0."""
    top = _first(magnitudes, range(magnitudes.shape[-1] - 1, -1, -1))
    words = magnitudes.reshape(-1)[np.arange(len(magnitudes)) * magnitudes.shape[-1] + top]
    return np.asarray(np.where(words != 0, LIMB * top + word_bits(words), 0))


def longest(limbs: Limbs) -> int:
    """Bits of the longest magnitude, 0 for none."""
    if not limbs.size:
        return 0
    sign = signs(limbs)
    for place in reversed(range(limbs.shape[-1])):
        # two's complement: a magnitude is the flipped limbs, plus 1 where the integer is negative
        flipped = limbs[..., place] ^ sign
        bits = int(flipped.max()).bit_length()
        if bits:
            powers = limbs[(sign != 0) & (flipped == np.uint64((1 << bits) - 1))]
            return LIMB * place + bits + int((powers[:, :place] == 0).all(axis=1).any())
    return int(sign.any())


def lowest_bits(magnitudes: Limbs) -> Ints:
    """Position of the lowest bit that is 1 in each magnitude, or in two's complement; NO_BITS for 0."""
    low = _first(magnitudes, range(magnitudes.shape[-1]))
    words = _words(magnitudes, low)
    return np.asarray(np.where(words != 0, LIMB * low + trailing_zeros(words), NO_BITS))


def _first(limbs: Limbs, order: range) -> NDArray[np.int64]:
    """The first limb of each entry, in an order, that is not 0; the last one where all are."""
    if len(order) > FEW:
        ahead = limbs[:, order.start :: order.step] if order.step < 0 else limbs
        return np.asarray(order.start + order.step * np.minimum(np.argmax(ahead != 0, axis=1), len(order) - 1))
    found = np.full(len(limbs), order[-1])
    for place in reversed(order):
        np.copyto(found, place, where=limbs[:, place] != 0)
    return found


def windows(magnitudes: Limbs, places: Ints) -> NDArray[np.uint64]:
    """The 64 bits from each place on, floor(m / 2**place) modulo 2**64; places are above -64."""
    whole, part = places >> 6, (places & (LIMB - 1)).astype(np.uint64)
    low, high = _words(magnitudes, whole), _words(magnitudes, whole + 1)
    return np.asarray((low >> part) | ((high << (np.uint64(LIMB - 1) - part)) << np.uint64(1)))


def rounded_windows(magnitudes: Limbs, negative: Flags, places: Ints, rounding: Rounding) -> NDArray[np.uint64]:
    """m / 2**place rounded to an integer, m the magnitude of a number whose sign decides the direction.

    The result is modulo 2**63, and places are above -63; those past the limbs may be any.
    """
    count = magnitudes.shape[-1]
    places = np.minimum(places, LIMB * count + 1)
    half = windows(magnitudes, places - 1)
    kept = half >> np.uint64(1)
    if rounding is Rounding.ZERO:
        return kept
    lowest = lowest_bits(magnitudes)
    if rounding is Rounding.NEAREST:
        up = half & (kept | (lowest < places - 1))
        up &= np.uint64(1)
    else:
        up = ((lowest < places) & (negative == (rounding is Rounding.DOWN))).astype(np.uint64)
    return np.asarray(kept + up)


def accumulate(limbs: Limbs, words: NDArray[np.uint64], places: Ints, negative: Flags) -> None:
    """limbs += words * 2**places, subtracted where negative, modulo 2**(64 L), in place; places are not negative."""
    whole, part = places >> 6, (places & (LIMB - 1)).astype(np.uint64)
    pieces = words << part, (words >> (np.uint64(LIMB - 1) - part)) >> np.uint64(1)
    count = limbs.shape[-1]
    flat = limbs.reshape(-1)
    at = np.arange(len(limbs)) * count + whole
    # where all bits are flipped before and after, a sum is a difference
    flip = -negative.astype(np.uint64)
    over = np.zeros(len(limbs), np.uint64)
    for offset, piece in enumerate(pieces):
        over = _add_words(flat, at + offset, whole + offset < count, piece, over, flip)
    rows = np.flatnonzero(over)
    _propagate(flat, at[rows] + len(pieces), count - len(pieces) - whole[rows], flip[rows])


def _add_words(
    flat: NDArray[np.uint64],
    at: NDArray[np.int64],
    inside: Flags,
    words: NDArray[np.uint64],
    carries: NDArray[np.uint64],
    flip: NDArray[np.uint64],
) -> NDArray[np.uint64]:
    """Add words and carries at a limb of each entry that has it; the carries out of it."""
    if not inside.all():
        rows = np.flatnonzero(inside)
        found = np.zeros(len(at), np.uint64)
        found[rows] = _add_words(flat, at[rows], inside[rows], words[rows], carries[rows], flip[rows])
        return found
    total = flat[at]
    total ^= flip
    total += words
    over = total < words
    total += carries
    over |= total < carries
    total ^= flip
    flat[at] = total
    return over.astype(np.uint64)


def _propagate(
    flat: NDArray[np.uint64], at: NDArray[np.int64], left: NDArray[np.int64], flip: NDArray[np.uint64]
) -> None:
    """Add 1 at limbs of which so many are left in their entries, and go on above where that is carried."""
    while True:
        inside = left > 0
        at, left, flip = at[inside], left[inside], flip[inside]
        if not len(at):
            return
        total = (flat[at] ^ flip) + np.uint64(1)
        flat[at] = total ^ flip
        on = total == 0
        at, left, flip = at[on] + 1, left[on] - 1, flip[on]


def _words(limbs: Limbs, places: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A limb of each entry, 0 past either end."""
    count = limbs.shape[-1]
    at = np.arange(len(limbs)) * count + np.clip(places, 0, count - 1)
    words = limbs.reshape(-1)[at]
    return np.asarray(np.where((places >= 0) & (places < count), words, np.uint64(0)))


def word_bits(words: NDArray[np.uint64]) -> Ints:
    """Bits of each word, 0 for 0."""
    # a 0 below the highest 1, so that the float does not round up to a power of two
    found: Ints = np.frexp((words & ~(words >> np.uint64(1))).astype(np.float64))[1].astype(np.int64)
    return found


def trailing_zeros(words: NDArray[np.uint64]) -> Ints:
    """Position of the lowest 1 of each word, 64 for 0."""
    return np.asarray(np.bitwise_count((words & -words) - np.uint64(1)).astype(np.int64))
