"""Looks over operands before planning: row exponents, bits, and whether everything is finite."""

from collections.abc import Sequence

import numpy as np

from exactla.backend import Operand, Scanned
from exactla.formats import FloatFormat, IntegerFormat
from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy.chunks import chunks
from exactla_backends.numpy.encodings import Ints, decode, finite, trailing_zeros, unsigned
from exactla_backends.numpy.threads import for_each

NONE = 1 << 40
"""Larger than any exponent."""


def scan(operands: Sequence[Operand]) -> Scanned:
    """Exponents [S, R] and bits that hold for all of the operands, in whose entries non-finite ones count as 0."""
    stacks, rows, _ = operands[0].shape
    lowest = np.full((stacks, rows), NONE, np.int64)
    highest = np.full((stacks, rows), -NONE, np.int64)
    good = [_scan_one(x, lowest, highest) for x in operands]
    empty = highest <= -NONE
    lowest[empty] = 0
    highest[empty] = 0
    bits = int((highest - lowest).max(initial=0))
    scanned = tuple(
        x._replace(exponents=lowest, bits=bits, tops=highest, finite=is_finite)
        for x, is_finite in zip(operands, good, strict=True)
    )
    return Scanned(scanned, bits, all(good))


def _scan_one(operand: Operand, lowest: Ints, highest: Ints) -> bool:
    """Lower `lowest` and raise `highest` by an operand's rows; returns whether all entries are finite."""
    if isinstance(operand.format, FloatFormat):
        return _scan_floats(operand, operand.format, lowest, highest)
    bits = _integer_bits(operand) if isinstance(operand.format, IntegerFormat) else _limb_bits(operand.buffer)
    np.minimum(lowest, 0, out=lowest)
    np.maximum(highest, bits, out=highest)
    return True


def _scan_floats(operand: Operand, format: FloatFormat, lowest: Ints, highest: Ints) -> bool:
    flags: list[bool] = []

    def look(piece: tuple[slice, ...]) -> None:
        encodings = operand.buffer[piece]
        decoded = decode(encodings, format)
        zero = decoded.significand == 0
        bottom = decoded.exponent + trailing_zeros(decoded.significand)
        np.copyto(bottom, NONE, where=zero)
        top = decoded.exponent + format.precision
        np.copyto(top, -NONE, where=zero)
        part = piece[:2]
        # pieces of one long row meet in the same entries
        lowest[part] = np.minimum(lowest[part], bottom.min(axis=2))
        highest[part] = np.maximum(highest[part], top.max(axis=2))
        flags.append(decoded.special is None)

    pieces = list(chunks(operand.shape))
    if operand.shape[2] == 0:
        return True
    if len({(p[0].start, p[1].start) for p in pieces}) < len(pieces):
        for piece in pieces:
            look(piece)
    else:
        for_each(look, pieces)
    return all(flags)


def _integer_bits(operand: Operand) -> int:
    format = operand.format
    if not isinstance(format, IntegerFormat):
        raise TypeError(f"{format} is not an integer format")
    if operand.buffer.size == 0:
        return 0
    return max(abs(int(operand.buffer.min())), abs(int(operand.buffer.max()))).bit_length()


def _limb_bits(limbs: Ints) -> int:
    if limbs.size == 0:
        return 0
    for j in range(len(limbs) - 1, -1, -1):
        top = int(np.abs(limbs[j]).max())
        if top:
            # lower limbs of either sign stay below one unit of the next
            return j * mp.BITS + (top + 1).bit_length()
    return 0


def first_nonfinite(operand: Operand) -> int:
    """Position in C order of the first NaN or infinity, -1 where there is none."""
    if not isinstance(operand.format, FloatFormat):
        return -1
    bad = ~finite(unsigned(operand.buffer), operand.format)
    return int(bad.argmax()) if bad.any() else -1
