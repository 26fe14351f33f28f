"""Tables that take integers of many limbs to residues and back: `tables.cu` makes them, `conversions.cu` reads them.

Numbers below 2**16 are two signed octets and long ones many, balanced as in `exactla_backends.octets`.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core.limbs import LIMB, OCTETS
from exactla.core.moduli import ResidueBase
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.multiprecision.limbs import THREADS, WARP, WideKernels
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import padded

STEP = 64
"""Multiple that inner dimensions of products with tables are padded to."""

SIDE = 16
"""Multiple that their rows are padded to."""

BIAS_BITS = 30
"""Sums of octets stay below 2**BIAS_BITS in magnitude."""

FRACTION_BITS = 40
CONSTANTS = 7
"""Words for each modulus."""

KEPT = 24
"""Tables of long integers that a backend keeps, of a few millions of octets each."""


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
    """The constants of each modulus that `common.cuh` lists."""
    m, weights = np.array(base.moduli, np.uint64), np.array(base.weights, np.uint64)
    fraction, half, bias = (np.uint64(1 << bits) for bits in (FRACTION_BITS, 32, BIAS_BITS))
    whole = np.uint64((1 << 64) - 1) // m + (m & (m - 1) == 0)  # floor(2**64 / m)
    found = np.stack(
        [
            m,
            half // m,
            (bias + m - 1) // m * m,
            weights,
            (m - weights) % m,
            fraction // m,
            whole,
        ],
        1,
    )
    found.setflags(write=False)
    return found


def _whole(base: ResidueBase, limbs: int) -> NDArray[np.uint64]:
    return np.stack([words(value, limbs) for value in (*base.cofactors, -base.product)])


@dataclass(frozen=True)
class Table:
    """Rows of octets for products, on a device."""

    memory: Memory
    rows: int
    depth: int


@dataclass(frozen=True)
class Recovery:
    """What residues become integers with: constants of moduli, octets of cofactors, M, and what sums begin with."""

    constants: Memory
    cofactors: Table
    product: Memory
    constant: Memory


class Tables:
    """The tables that calls have needed last, on a device."""

    def __init__(self, device: CudaDevice) -> None:
        self._device, self._kernels = device, WideKernels(device)
        self._kept = lru_cache(maxsize=KEPT)(lambda place, make, *key: make(*key))

    def _find(self, make: Callable[..., Any], *key: Hashable) -> Any:
        """What is made of a key, for the current place."""
        return self._kept(self._device.place(), make, *key)

    def constants(self, base: ResidueBase) -> Memory:
        """As of `constants`."""
        return self._find(self._constants, base)

    def _constants(self, base: ResidueBase) -> Memory:
        return self._device.upload(constants(base))

    def powers(self, base: ResidueBase, octets: int) -> Table:
        """Digits of 256**j modulo each modulus, j < octets: row 2 p has high and row 2 p + 1 low ones."""
        found: Table = self._find(self._powers, base, octets)
        return found

    def _powers(self, base: ResidueBase, octets: int) -> Table:
        table = self._zeros(padded(2 * len(base.moduli), SIDE), octets)
        arguments = (self.constants(base), octets, table.memory)
        self._kernels.grid("tables", "powers", (len(base.moduli),), THREADS, arguments)
        return table

    def recovery(self, base: ResidueBase, limbs: int) -> Recovery:
        """For integers of so many limbs."""
        found: Recovery = self._find(self._recovery, base, limbs)
        return found

    def _recovery(self, base: ResidueBase, limbs: int) -> Recovery:
        return Recovery(
            self.constants(base),
            self._cofactors(base, OCTETS * limbs),
            self._device.upload(words(base.product, limbs)),
            # the kernel adds (moduli - q) M
            self._constant(-len(base.moduli) * base.product, limbs),
        )

    def constant(self, value: int, limbs: int) -> Memory:
        """An integer, less what sums of octets are too large by, in so many limbs."""
        return self._find(self._constant, value, limbs)

    def _constant(self, value: int, limbs: int) -> Memory:
        return self._device.upload(words(value - bias(limbs), limbs))

    def _cofactors(self, base: ResidueBase, octets: int) -> Table:
        """Row o has octet o of M / m_p in column 2 p and of 256 M / m_p in column 2 p + 1."""
        table = self._zeros(padded(octets, SIDE), digits_depth(base))
        moduli, product = len(base.moduli), words(base.product, -(-base.product.bit_length() // LIMB))
        halves = 2 * len(product)  # of limbs
        arguments = (
            *(self._device.upload(product), halves, self.constants(base), moduli),
            *(self._device.allocate(4 * halves * moduli), octets, table.depth, table.memory),
        )
        self._kernels.grid("tables", "cofactors", (-(-moduli // WARP),), WARP, arguments)
        return table

    def whole(self, base: ResidueBase, limbs: int) -> Memory:
        """The constants, and M / m for each modulus and -M: uint64 [P, CONSTANTS] and after it [P + 1, limbs]."""
        return self._find(self._uploaded_whole, base, limbs)

    def _uploaded_whole(self, base: ResidueBase, limbs: int) -> Memory:
        return self._device.upload(np.concatenate([constants(base).ravel(), _whole(base, limbs).ravel()]))

    def _zeros(self, rows: int, depth: int) -> Table:
        memory = self._device.allocate(rows * depth)
        self._device.clear(memory)
        return Table(memory, rows, depth)
