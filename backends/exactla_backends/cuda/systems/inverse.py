"""The inverse of a matrix modulo many primes at once, and its largest minors; `inverse.cu` has the kernels."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Minor
from exactla.core.elimination import parity
from exactla.core.moduli import ResidueBase
from exactla_backends.cuda import driver
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.systems import tables
from exactla_backends.cuda.systems.kernels import Kernels
from exactla_backends.device.constants import Constants
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import padded

PANEL, TILE, PANEL_THREADS, THREADS = 32, 128, 1024, 256
"""XL_PANEL and XL_TILE of the text, and threads of a block."""

INTERRUPTIBLE = 1 << 41
"""Multiplications, about a tenth of a second, after which the host waits: it cannot be interrupted while it does."""


@dataclass(frozen=True)
class Inverses:
    """A**-1 modulo the primes of a base that have one: octets [primes, size, stride] on the device.

    `products` are, for every prime that was given, the products of the pivots, 0 where there is no inverse.
    """

    base: ResidueBase
    memory: Memory
    stride: int
    given: ResidueBase
    products: tuple[int, ...]
    pivots: NDArray[np.int32]

    @cached_property
    def determinants(self) -> tuple[int, ...]:
        """det A modulo each of the primes that were given."""
        # the pivot of column k is in row pivots[k]
        return tuple(
            d * parity(rows.tolist()) % m if d else 0
            for d, rows, m in zip(self.products, self.pivots, self.given.moduli, strict=True)
        )


def stride_of(size: int) -> int:
    """Octets from one row of residues to the next."""
    return padded(max(size, 1), TILE)


def residues(
    kernels: Kernels,
    constant: Constants,
    base: ResidueBase,
    words: Memory,
    shape: tuple[int, int, int],
    planes: Memory,
) -> None:
    """planes [primes, rows, stride] = residues of integers [rows, columns, words] in two's complement."""
    rows, columns, count = shape
    stride = stride_of(columns)
    kernels.launch(
        "xl_system_residues",
        (-(-stride // THREADS), rows),
        min(stride, THREADS),
        (
            *(words, count, rows, columns, stride, len(base.moduli)),
            *(constant(tables.moduli(base)), constant(tables.powers(base, count)), planes),
        ),
    )


class Inversion:
    """The inverses of a matrix of integers of `count` words, [size, size, count], in the making."""

    def __init__(
        self, device: CudaDevice, constant: Constants, words: Memory, size: int, count: int, base: ResidueBase
    ) -> None:
        self._device, self._base, self._size, self._stride = device, base, size, stride_of(size)
        self._kernels, self._moduli = Kernels(device, "inverse"), constant(tables.moduli(base))
        primes, stride = len(base.moduli), self._stride
        self._planes = device.allocate(primes * size * stride)
        residues(self._kernels, constant, base, words, (size, size, count), self._planes)
        # products of pivots, pivots and their inverse permutations
        state = np.full(primes * (1 + 2 * size), -1, np.int32)
        state[:primes] = 1
        self._products = device.upload(state)
        self._pivots, self._places = self._products + 4 * primes, self._products + 4 * primes * (1 + size)
        self._transform()

    def _transform(self) -> None:
        device, size, stride, primes = self._device, self._size, self._stride, len(self._base.moduli)
        panels, rows = device.allocate(primes * size * PANEL), device.allocate(primes * PANEL * stride)
        # longer panels stay in global memory
        shared = PANEL * size if PANEL * size <= driver.most_shared_bytes(device.number) else 0
        panel = self._kernels.prepared(
            "xl_system_panel",
            (primes,),
            min(PANEL_THREADS, padded(size, PANEL)),
            (
                *(self._planes, size, stride, 0, PANEL, self._moduli, panels, rows),
                *(self._pivots, self._places, self._products, int(shared > 0)),
            ),
            shared,
        )
        update = self._kernels.prepared(
            "xl_system_update",
            (stride // TILE, stride // TILE, primes),
            THREADS,
            (self._planes, size, stride, 0, self._moduli, panels, rows, self._places),
        )
        between = max(1, INTERRUPTIBLE // (primes * stride * stride * PANEL)) * PANEL
        for start in range(0, size, PANEL):
            if start and start % between == 0:
                device.download_cells(self._products, 0, 1)
            panel.arguments[3].value = update.arguments[3].value = start
            panel.arguments[4].value = min(PANEL, size - start)
            panel.run(device.stream)
            update.run(device.stream)

    def minors(self) -> list[Minor]:
        """A largest minor modulo each prime: waits for the device."""
        found = []
        for product, rows in zip(*self._eliminated(), strict=True):
            columns = np.flatnonzero(rows >= 0)
            found.append(Minor(tuple(rows[columns].tolist()), tuple(columns.tolist()), int(product)))
        return found

    def finished(self) -> Inverses:
        """The inverses: waits for the device."""
        device, size = self._device, self._size
        products, pivots = self._eliminated()
        products[(pivots < 0).any(axis=1)] = 0
        kept = np.flatnonzero(products).astype(np.int32)
        result = device.allocate(len(kept) * size * self._stride)
        self._kernels.launch(
            "xl_system_arrange",
            (-(-self._stride // (4 * THREADS)), size, len(kept)),
            THREADS,
            (self._planes, size, self._stride, self._pivots, self._places, device.upload(kept), result),
        )
        device.download_cells(self._products, 0, 1)  # other streams may use the result
        return Inverses(
            ResidueBase(tuple(self._base.moduli[i] for i in kept)),
            result,
            self._stride,
            self._base,
            tuple(products.tolist()),
            pivots,
        )

    def _eliminated(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Products of pivots, and the row of each column's pivot, -1 where it has none [primes, size]."""
        size, primes = self._size, len(self._base.moduli)
        found = self._device.download(self._products, np.dtype(np.int32), (primes * (1 + size),)).copy()
        return found[:primes], found[primes:].reshape(primes, size)
