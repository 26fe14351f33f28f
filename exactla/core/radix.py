"""Sums of long digits times long weights, for many entries at once: a product with a table, exact in float64.

Digits and weights are cut into pieces of 16 bits. Shifted copies of a weight's pieces, one for each piece of its digit,
make the table, so that one matrix product and one pass of carries give all sums.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PIECE = 16
DEPTH = 1 << 20
"""Products of two pieces that may be summed: 2**32 * 2**20 < 2**53."""

ENTRIES = 1 << 20
"""Pieces of sums that are made at a time."""


def weighted_sums(digits: Sequence[NDArray[np.uint16]], weights: Sequence[int]) -> list[int]:
    """sum_s weights[s] * digit s of each entry, in C order of the entries.

    Parameters
    ----------
    digits : sequence of arrays, shapes (steps, *shape, pieces)
        Two's complement, the lowest piece first; steps of all arrays follow each other.
    weights : sequence of int
        Not negative, one a step.
    """
    pieces = digits[0].shape[-1]
    steps = len(weights)
    entries = int(np.prod(digits[0].shape[1:-1], dtype=np.int64))
    table = _table(weights, pieces)
    found: list[int] = []
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


def integers_of(sums: NDArray[Any]) -> list[int]:
    """The integers sum_i sums[i] * 2**(16 i) of each column, for whole numbers below 2**53 in magnitude."""
    count, entries = sums.shape
    low = np.empty((count, entries), np.uint16)
    carry = np.zeros(entries, np.int64)
    for place, values in enumerate(sums):
        carry += values.astype(np.int64, copy=False)
        low[place] = carry & 0xFFFF
        carry >>= PIECE
    octets = np.concatenate([np.ascontiguousarray(low.T).view(np.uint8), carry[:, None].view(np.uint8)], axis=1)
    return [int.from_bytes(row.data, "little", signed=True) for row in octets]


def _table(weights: Sequence[int], pieces: int) -> NDArray[np.float64]:
    """[pieces of a sum, steps * pieces of a digit]."""
    length = max((w.bit_length() for w in weights), default=0) // PIECE + 1
    text = b"".join(int(w).to_bytes(2 * length, "little") for w in weights)
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
