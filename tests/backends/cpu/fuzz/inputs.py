"""What random jobs work on, made from bytes: choices, sizes, and matrices in any layout."""

import ctypes
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.formats import FloatFormat, Format
from exactla_backends.cpu.native import library
from tests.backends.kernels.data import extreme_encodings, scaled, values

Array = NDArray[Any]


class Draw:
    """Choices read from bytes, and after the last of them zeros."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def below(self, n: int) -> int:
        """A number from 0 to n - 1, n at most 65536."""
        octets = self._data[self._place : self._place + 2]
        self._place += 2
        return int.from_bytes(octets, "little") % n

    def octets(self, count: int) -> bytes:
        """So many of the bytes that are left, over and over."""
        found = self._data[self._place : self._place + count] or b"\0"
        self._place += count
        return (found * (count // len(found) + 1))[:count]

    def size(self, most: int) -> int:
        """A length from 1 to `most`, the short ones more often."""
        return 1 + self.below(1 + self.below(most))


@dataclass(frozen=True)
class Scan:
    """Exponents of rows [S, R], and the bits of the entries in units of them."""

    exponents: Array
    bits: int
    nonfinite: int
    checks: int = 0

    def without_tail(self, dropped: int) -> "Scan":
        """Of entries whose last bits are dropped: floor(entry / 2**dropped), where that is more than 0."""
        if dropped == 0:
            return replace(self, checks=library.EXPECT_FINITE)
        bits = max(self.bits - dropped, 0) + 1
        return replace(self, exponents=self.exponents + dropped, bits=bits, checks=library.MAY_DROP)


@dataclass(frozen=True)
class Matrices:
    """A stack of matrices in memory that ends where its last entry does; format None: integers of limbs."""

    entries: Array  # [S, R, K], or [L, S, R, K]
    format: Format | None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entries.shape[-3:]

    def stack(self, scan: Scan | None = None) -> ctypes.Structure:
        if scan is None:
            return library.stack(self.entries, self.format, None, 0, 0)
        return library.stack(self.entries, self.format, scan.exponents, scan.bits, scan.checks)


def matrices(draw: Draw, format: Format | None, shape: tuple[int, int, int]) -> Matrices:
    """Entries of some pattern in some layout: any order of axes, gaps, reversed axes, odd addresses."""
    octets = 4 if format is None else max(format.bits // 8, 1)
    full = (1 + draw.below(3), *shape) if format is None else shape
    order = [list(range(len(full))), [*range(len(full) - 2), len(full) - 1, len(full) - 2]][draw.below(2)]
    strides = [0] * len(full)
    step = octets * (1 + draw.below(2)) + draw.below(3) % 2
    for axis in reversed(order):
        strides[axis] = step
        step = step * full[axis] + draw.below(3)
    offset = draw.below(2 * octets)
    extent = sum((n - 1) * stride for n, stride in zip(full, strides, strict=True)) + octets
    memory = np.zeros(offset + extent, np.uint8)
    entries: Array = np.ndarray(full, f"u{octets}", memory, offset, strides)
    entries[...] = _pattern(draw, format, int(np.prod(full)), octets).reshape(full)
    for axis in range(len(full)):
        if draw.below(4) == 0:
            entries = np.flip(entries, axis)
    return Matrices(entries, format)


def _pattern(draw: Draw, format: Format | None, size: int, octets: int) -> Array:
    kind = draw.below(4)
    raw = np.frombuffer(draw.octets(size * octets), f"u{octets}")
    if not isinstance(format, FloatFormat) or kind == 0:
        return raw
    sign = 1 << (format.bits - 1)
    if kind == 1:
        extremes = [e for e in extreme_encodings(format) if format.is_finite(e)]
        chosen: Array = np.array(extremes, raw.dtype)[raw % len(extremes)]
        return chosen
    # finite entries of few binades, or of all
    top = format.largest >> format.fraction_bits
    lowest = draw.below(top + 1)
    highest = min(top, lowest + draw.below(12)) if kind == 2 else top
    field = np.uint64(lowest) + (raw.astype(np.uint64) >> np.uint64(format.fraction_bits)) % np.uint64(
        highest - lowest + 1
    )
    magnitude = field << np.uint64(format.fraction_bits) | raw.astype(np.uint64) & np.uint64(
        (1 << format.fraction_bits) - 1
    )
    magnitude = np.minimum(magnitude, np.uint64(format.largest))
    negative = (raw.astype(np.uint64) & np.uint64(sign) != 0) & (format.signed_zero | (magnitude != 0))
    encodings: Array = (magnitude | negative * np.uint64(sign)).astype(raw.dtype)
    return encodings


def integers(x: Matrices, scan: Scan) -> list[Array]:
    """Entries of each matrix in units of their row's exponent, as Python integers."""
    if x.format is None:
        words = [limb.astype(object) << 32 * i for i, limb in enumerate(x.entries)]
        whole, sign = np.sum(words, axis=0), 1 << (32 * len(words) - 1)
        worth = np.where(whole >= sign, whole - 2 * sign, whole)
    else:
        worth = values(x.entries, x.format)
    return [scaled(matrix, exponents) for matrix, exponents in zip(worth, scan.exponents, strict=True)]
