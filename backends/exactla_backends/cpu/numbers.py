"""Long integers from p-adic digits by the native library; kernels/host_numbers.h says how they are made.

Weights are w P**i modulo M for steps i, so that digits of some steps may become one integer before they are weighed.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactla.core.numerators import PackedNumbers
from exactla.core.radix import integers_of
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import I64, Array, Instructions, Pointer, pointer
from exactla_backends.numpy.threads import threads

ROWS = 6
"""Sums of pieces that are made at a time, XL_PIECE_ROWS."""

WORD = 32

MOST_BITS, LEAST_BITS = 31, 20
"""Of pieces."""

MERGED_BITS = 800
"""Integers that are made of several digits are shorter."""

GUARD = 12
"""Bits behind the point of a quotient that are right."""

INTERRUPTIBLE, ENTRIES = 1 << 31, 64
"""Products of pieces in one call, which cannot be interrupted, and the entries that a thread takes."""


class Numbers(ctypes.Structure):
    """What the native library is told, as xl_host.h has it."""

    _fields_ = (
        ("digits", Pointer),
        ("steps", I64),
        ("words", I64),
        ("together", I64),
        ("base", Pointer),
        ("base_words", I64),
        ("bits", I64),
        ("pieces", I64),
        ("merged_words", I64),
        ("halves", Pointer),
        ("weights", Pointer),
        ("groups", I64),
        ("row", I64),
        ("positions", I64),
        ("top_position", I64),
        ("top_words", I64),
        ("top_offset", Pointer),
        ("reciprocal", Pointer),
        ("reciprocal_words", I64),
        ("places", I64),
        ("quotient_halves", Pointer),
        ("result", Pointer),
        ("result_words", I64),
        ("lengths", Pointer),
    )


@dataclass(frozen=True)
class Cut:
    """How digits are cut: so many steps become an integer of `pieces` pieces of `bits` bits."""

    together: int
    pieces: int
    bits: int

    def groups(self, steps: int) -> int:
        """Integers that the digits of so many steps become."""
        return -(-steps // self.together)


def best_cut(step_bits: int, steps: int, modulus_bits: int) -> Cut:
    """The cut with the fewest products of pieces, whose sums stay in 64 bits."""
    # room for a quotient, and for the sign
    more = steps.bit_length() + 3
    found = []
    for bits in range(LEAST_BITS, MOST_BITS + 1):
        for together in range(1, max(1, min(steps, MERGED_BITS // step_bits)) + 1):
            pieces = -(-(together * step_bits + more) // bits)
            cut = Cut(together, pieces, bits)
            summed = (cut.groups(steps) + 1) * pieces
            if bits == LEAST_BITS or summed <= 3 << 63 - 2 * bits:
                found.append((summed * (modulus_bits // bits + pieces), cut.bits, cut))
    return min(found, key=lambda each: each[:2])[-1]


def combined(native: Instructions, digits: Array, weights: Array) -> list[Any]:
    """For each step the sum of its digits, uint32 [steps, entries, words], times the weights of the entries, int32."""
    steps, _, words = digits.shape
    sums = np.empty((steps, 2 * words), np.int64)
    native.run(
        "combine_digits",
        Pointer(pointer(digits)),
        *map(I64, digits.shape),
        Pointer(pointer(weights)),
        Pointer(pointer(sums)),
    )
    return integers_of(sums.T)


def weighted(
    native: Instructions, parts: Sequence[Array], base: int, weights: Sequence[int], modulus: int
) -> PackedNumbers:
    """For each entry the sum over steps of weight times digit, modulo a modulus, less than 0.51 of it in magnitude.

    Digits are uint32 [steps, entries, words], the steps of all parts after each other, and less than the base in
    magnitude; weight i + 1 is the base times weight i.
    """
    steps, entries = len(weights), parts[0].shape[1]
    cut = best_cut(base.bit_length(), steps, modulus.bit_length())
    job = _job(parts, base, weights, modulus, cut)
    words = modulus.bit_length() // WORD + 1
    found, lengths = np.empty((entries, words), np.uint32), np.empty(entries, np.int64)
    job.result, job.result_words, job.lengths = pointer(found), words, pointer(lengths)
    each = ENTRIES * threads()
    at_once = max(1, INTERRUPTIBLE // (job.positions * job.groups * job.pieces * each)) * each
    for begin in range(0, entries, at_once):
        native.run("numbers", ctypes.byref(job), I64(begin), I64(min(begin + at_once, entries)))
    return PackedNumbers(found.view(np.uint8), int(lengths.max(initial=0)))


def _job(parts: Sequence[Array], base: int, weights: Sequence[int], modulus: int, cut: Cut) -> Numbers:
    """All but the results."""
    steps, bits, pieces = len(weights), cut.bits, cut.pieces
    length, groups = modulus.bit_length(), cut.groups(steps)
    merged_words = -(-bits * pieces // WORD) + 1
    # sums of weights of up to M / 2 times merged digits are less than 2**quotient_bits M
    quotient_bits = cut.together * base.bit_length() + groups.bit_length()
    # the sums from there on are off by less than 2**-GUARD M
    top_position = max(0, (length - 65 - GUARD) // bits)
    dropped = bits * top_position
    top_words = (quotient_bits + 2 + length - dropped) // WORD + 1
    places = top_words + 1
    reciprocal = (1 << WORD * places + dropped) // modulus
    halves = _halves(pieces, bits)
    constants = {
        "base": _words(base, base.bit_length() // WORD + 1),
        "halves": _words(halves, merged_words),
        "top_offset": _words(modulus << quotient_bits >> dropped, top_words),
        "reciprocal": _words(reciprocal, reciprocal.bit_length() // WORD + 1),
        "quotient_halves": _words((halves - (1 << quotient_bits)) % (1 << WORD * merged_words), merged_words),
    }
    integers = [w - modulus if 2 * w > modulus else w for w in weights[:: cut.together]]
    count = (length + 1) // bits + 1
    before, positions = pieces - 1, count + pieces
    table = np.zeros((groups + 1, before + positions + ROWS), np.int32)
    table[:, before : before + count] = balanced([*integers, -modulus], count, bits)
    addresses = np.array([pointer(d) for part in parts for d in part][:steps], np.uintp)
    job = Numbers(
        digits=pointer(addresses),
        steps=steps,
        words=parts[0].shape[2],
        together=cut.together,
        base_words=len(constants["base"]),
        bits=bits,
        pieces=pieces,
        merged_words=merged_words,
        weights=pointer(table[:, before:]),
        groups=groups,
        row=table.shape[1],
        positions=positions,
        top_position=top_position,
        top_words=top_words,
        reciprocal_words=len(constants["reciprocal"]),
        places=places,
        **{name: pointer(words) for name, words in constants.items()},
    )
    library.keep(job, parts, constants, table, addresses)
    return job


def balanced(integers: Sequence[int], count: int, bits: int) -> Array:
    """Pieces [integers, count] from -2**(bits - 1) on, the lowest first, of magnitudes below 2**(count * bits - 1)."""
    halves, octets = _halves(count, bits), count * bits // 8 + 1
    text = b"".join((integer + halves).to_bytes(octets, "little") for integer in integers) + bytes(8)
    # a word of 64 bits from every octet on
    words = np.ndarray((len(integers), octets), "<u8", text, strides=(octets, 1))
    places = np.arange(count) * bits
    pieces = words[:, places // 8] >> (places % 8).astype(np.uint64) & np.uint64((1 << bits) - 1)
    found: Array = (pieces.astype(np.int64) - (1 << bits - 1)).astype(np.int32)
    return found


def _halves(count: int, bits: int) -> int:
    """2**(bits - 1) in each of so many pieces."""
    return ((1 << count * bits) - 1) // ((1 << bits) - 1) << bits - 1


def _words(value: int, count: int) -> Array:
    """Words of 32 bits of an integer that is not negative."""
    return np.frombuffer(value.to_bytes(4 * count, "little"), np.uint32)
