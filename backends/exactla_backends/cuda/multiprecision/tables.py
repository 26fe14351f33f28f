"""Tables that take integers of many limbs to residues and back, as they lie on a device; `conversions.cu` reads them.

Numbers below 2**16 are two signed octets and long ones many, balanced: octet j is byte j of x + 128 (1 + 256 + ...),
minus 128.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactla.core.limbs import LIMB, OCTETS
from exactla.core.moduli import ResidueBase
from exactla_backends.device.device import Device, Memory
from exactla_backends.device.planes import padded

STEP = 64
"""Multiple that inner dimensions of products with tables are padded to."""

SIDE = 16
"""Multiple that their rows are padded to."""

BIAS_BITS = 30
"""Sums of octets stay below 2**BIAS_BITS in magnitude."""

FRACTION_BITS = 40
KEPT = 24
"""Tables of long integers that a backend keeps, of a few millions of octets each."""


def signed_octets(value: int, count: int) -> NDArray[np.int8]:
    """The lowest balanced octets of an integer."""
    halves = int.from_bytes(b"\x80" * count, "little")
    octets = ((value + halves) & ((1 << 8 * count) - 1)).to_bytes(count, "little")
    return (np.frombuffer(octets, np.uint8) ^ 0x80).view(np.int8)


def octets_depth(limbs: int) -> int:
    """Octets of an integer of so many limbs, with the one above them, padded."""
    return padded(OCTETS * limbs + 1, STEP)


def digits_depth(base: ResidueBase) -> int:
    """Digits of an entry's residues, padded."""
    return padded(2 * len(base.moduli), STEP)


def bias(limbs: int) -> int:
    """What sums of octets of so many limbs are too large by where 2**BIAS_BITS is added to each."""
    return ((1 << LIMB * limbs) - 1) // 255 << BIAS_BITS


def words(value: int, limbs: int) -> NDArray[np.uint64]:
    """An integer modulo 2**(64 limbs)."""
    text = (value % (1 << LIMB * limbs)).to_bytes(OCTETS * limbs, "little")
    return np.frombuffer(text, "<u8").astype(np.uint64, copy=False)


@lru_cache(maxsize=32)
def constants(base: ResidueBase) -> NDArray[np.uint64]:
    """The constants of each modulus that `conversions.cu` lists."""
    rows = [
        (m, (1 << 32) // m, -(-(1 << BIAS_BITS) // m) * m, w, -w % m, (1 << FRACTION_BITS) // m, (1 << 64) // m)
        for m, w in zip(base.moduli, base.weights, strict=True)
    ]
    found = np.array(rows, np.uint64)
    found.setflags(write=False)
    return found


def powers(base: ResidueBase, octets: int) -> NDArray[np.int8]:
    """Digits of 256**j modulo each modulus, j < octets: row 2 p has high and row 2 p + 1 low ones; rows are padded."""
    moduli = np.array(base.moduli, np.int64)
    found = np.empty((len(moduli), octets), np.int64)
    found[:, 0] = 1
    for j in range(1, octets):
        found[:, j] = found[:, j - 1] * 256 % moduli
    found = np.where(2 * found >= moduli[:, None], found - moduli[:, None], found)
    high = (found + 128) >> 8
    table = np.zeros((padded(2 * len(moduli), SIDE), octets), np.int8)
    table[: 2 * len(moduli) : 2] = high
    table[1 : 2 * len(moduli) : 2] = found - 256 * high
    return table


def cofactors(base: ResidueBase, limbs: int) -> NDArray[np.int8]:
    """Row o has octet o of M / m_p in column 2 p and of 256 M / m_p in column 2 p + 1; both sides are padded."""
    octets = OCTETS * limbs
    found = np.zeros((padded(octets, SIDE), digits_depth(base)), np.int8)
    columns = np.stack([signed_octets(cofactor, octets) for cofactor in base.cofactors])
    found[:octets, : 2 * len(columns) : 2] = columns.T
    found[1:octets, 1 : 2 * len(columns) : 2] = columns.T[:-1]
    return found


@dataclass(frozen=True)
class Table:
    """Rows of octets for products, on a device."""

    memory: Memory
    rows: int
    depth: int


@dataclass(frozen=True)
class Recovery:
    """What residues become integers of so many limbs with: octets of cofactors, M, and a constant to begin with."""

    cofactors: Table
    product: Memory
    constant: Memory


Made = TypeVar("Made")


class Tables:
    """The tables that calls have needed last, on a device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def constants(self, base: ResidueBase) -> Memory:
        """As of `constants`."""
        return self._find(("constants", base), lambda: self._device.upload(constants(base)))

    def powers(self, base: ResidueBase, octets: int) -> Table:
        """As of `powers`."""
        return self._find(("powers", base, octets), lambda: self._upload(powers(base, octets)))

    def recovery(self, base: ResidueBase, limbs: int) -> Recovery:
        """For integers of so many limbs."""
        return self._find(("recovery", base, limbs), lambda: self._recovery(base, limbs))

    def _recovery(self, base: ResidueBase, limbs: int) -> Recovery:
        # the kernel adds (moduli - q) M
        constant = -bias(limbs) - len(base.moduli) * base.product
        return Recovery(
            self._upload(cofactors(base, limbs)),
            self._device.upload(words(base.product, limbs)),
            self._device.upload(words(constant, limbs)),
        )

    def _upload(self, table: NDArray[np.int8]) -> Table:
        return Table(self._device.upload(table), *table.shape)

    def _find(self, key: Hashable, make: Callable[[], Made]) -> Made:
        key = self._device.place(), key
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                kept: Made = self._kept[key]
                return kept
        found = make()
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found
