"""Sums of long digits times long weights, for many entries at once: a product with a table, exact in float64.

Digits and weights are cut into pieces of 16 bits. Shifted copies of a weight's pieces, one for each piece of its digit,
make the table, so that one matrix product and one pass of carries give all sums.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

PIECE = 16
DEPTH = 1 << 20
"""Products of two pieces that may be summed: 2**32 * 2**20 < 2**53."""

TABLE_BYTES = 1 << 27
"""The table of weights that is made at a time."""

PLACES = 4
"""Pieces in 64 bits."""

BIAS = 1 << 53
"""What makes a sum positive."""

ENTRIES = 1 << 20
"""Pieces of sums that are made at a time."""


def weighted_sums(digits: Sequence[NDArray[np.uint16]], weights: Sequence[Any]) -> list[Any]:
    """sum_s weights[s] * digit s of each entry, in C order of the entries, as mpz.

    Parameters
    ----------
    digits : sequence of arrays, shapes (steps, *shape, pieces)
        Two's complement, the lowest piece first; steps of all arrays follow each other.
    weights : sequence of int or mpz
        Not negative, one a step.
    """
    pieces = digits[0].shape[-1]
    length = _pieces(max((w.bit_length() for w in weights), default=0))
    group = max(1, TABLE_BYTES // (8 * pieces * (length + pieces)))
    if group >= len(weights):
        return _sums(digits, weights, length)
    found: list[Any] = []
    for start in range(0, len(weights), group):
        part = _sums(_steps(digits, start, start + group), weights[start : start + group], length)
        found = list(map(gmpy2.add, found, part)) if found else part
    return found


def sum_bytes(bits: int, entries: int) -> int:
    """Workspace of sums of about so many bits, for so many entries."""
    pieces = _pieces(bits)
    return 2 * min(TABLE_BYTES, 8 * pieces**2) + 32 * min(ENTRIES, pieces * entries)


def _pieces(bits: int) -> int:
    return bits // PIECE + 1


def _steps(digits: Sequence[NDArray[np.uint16]], start: int, stop: int) -> list[NDArray[np.uint16]]:
    """The digits of steps from `start` to `stop`."""
    found = []
    for part in digits:
        found.append(part[max(start, 0) : max(stop, 0)])
        start, stop = start - len(part), stop - len(part)
    return found


def _sums(digits: Sequence[NDArray[np.uint16]], weights: Sequence[Any], length: int) -> list[Any]:
    """The sums, by one table of weights of so many pieces."""
    pieces = digits[0].shape[-1]
    steps = len(weights)
    entries = int(np.prod(digits[0].shape[1:-1], dtype=np.int64))
    table = _table(weights, length, pieces)
    found: list[Any] = []
    block = max(1, ENTRIES // len(table))
    for start in range(0, entries, block):
        stop = min(start + block, entries)
        values = np.empty((steps, pieces, stop - start))
        done = 0
        for part in digits:
            some = part[: steps - done].reshape(-1, entries, pieces)[:, start:stop]
            values[done : done + len(some)] = signed_pieces(some).transpose(0, 2, 1)
            done += len(some)
        found += integers_of(_product(table, values.reshape(steps * pieces, -1)))
    return found


def signed_pieces(digits: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Pieces as numbers: all but the top one are not negative."""
    found = digits.astype(np.float64)
    found[..., -1] = digits[..., -1].view(np.int16)
    return found


def integers_of(sums: NDArray[Any]) -> list[Any]:
    """The integers sum_i sums[i] * 2**(16 i) of each column, for whole numbers up to 2**53 in magnitude, as mpz.

    Every fourth place makes a field of 64 bits, so that the bytes of the fields are an integer already.
    """
    count, entries = sums.shape
    fields = np.zeros((PLACES, entries, -(-count // PLACES)), np.int64)
    for place in range(PLACES):
        part = sums[place::PLACES].T.astype(np.int64)
        np.add(part, BIAS, out=fields[place, :, : part.shape[1]])
    bias = _biases(count)
    parts = [[gmpy2.mpz.from_bytes(row.tobytes(), "little") for row in field] for field in fields]
    return [a + (b << PIECE) + ((c + (d << PIECE)) << 2 * PIECE) - bias for a, b, c, d in zip(*parts, strict=True)]


@lru_cache(256)
def _biases(count: int) -> Any:
    return gmpy2.mpz(sum(BIAS << PIECE * i for i in range(count)))


def _table(weights: Sequence[Any], length: int, pieces: int) -> NDArray[np.float64]:
    """[pieces of a sum, steps * pieces of a digit]."""
    text = b"".join(w.to_bytes(2 * length, "little") for w in weights)
    cut = np.frombuffer(text, "<u2").reshape(len(weights), length).astype(np.float64).T
    table = np.zeros((length + pieces, len(weights), pieces))
    for place in range(pieces):
        table[place : place + length, :, place] = cut
    return table.reshape(length + pieces, -1)


def _product(table: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[Any]:
    depth = table.shape[1]
    if depth <= DEPTH:
        return table @ values
    parts = (slice(start, start + DEPTH) for start in range(0, depth, DEPTH))
    found: NDArray[np.int64] = sum((table[:, p] @ values[p]).astype(np.int64) for p in parts)  # type: ignore[assignment]
    return found
