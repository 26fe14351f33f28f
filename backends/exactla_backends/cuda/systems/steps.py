"""Steps of p-adic lifting on the device; `steps.cu` has the kernels."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from exactla.core.integers import IntegerMatrix
from exactla.core.scaling import largest
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.driver import Launch
from exactla_backends.cuda.systems import tables
from exactla_backends.cuda.systems.inverse import THREADS, Inverses, residues, stride_of
from exactla_backends.cuda.systems.kernels import Kernels
from exactla_backends.device.constants import Constants
from exactla_backends.device.device import HostArray, Memory
from exactla_backends.numpy import limbs as mp

ROWS, WARP = 4, 32
DIGITS_AT = 9
"""Position of the digits among the arguments of their kernel."""

DIGIT_COLUMNS, RESIDUAL_COLUMNS = 8, 4
"""Right-hand sides that a block of threads takes together, where there are several."""


class System:
    """A matrix [n, n] with its inverses, on the device that was the current one; any stream may use what is ready."""

    def __init__(
        self, device: CudaDevice, constant: Constants, matrix: IntegerMatrix, words: Memory, inverse: Inverses
    ) -> None:
        self.device, self.constant, self.inverse = device, constant, inverse
        self._number = device.number
        self.size = len(matrix)
        self.stride = stride_of(self.size)
        self.base = inverse.base
        self.digit_words = tables.digit_words(self.base)
        self.integers = words
        self.entry_words = entry_words(matrix)
        self._largest = matrix.largest
        self._entries: Memory = None

    def at_home(self) -> AbstractContextManager[Any]:
        """Make the device of the inverse the current one."""
        return self.device.current(self._number)

    def words(self, right_side: HostArray) -> int:
        """Words of residuals: |r'| <= |r| / P + n max|A|."""
        return -(-(max(largest(right_side), self.size * self._largest).bit_length() + 2) // 32)

    @property
    def entry(self) -> str:
        """The type of entries for residuals of 64 bits."""
        return "int32_t" if self._largest < 1 << 31 else "int64_t"

    def entries(self, kernels: Kernels) -> Memory:
        """The matrix as numbers [n, stride] of type `entry`."""
        if self._entries is None:
            memory = self.device.allocate(self.size * self.stride * (4 if self.entry == "int32_t" else 8))
            grid = (-(-self.stride // THREADS), self.size)
            kernels.launch("xl_system_pad", grid, THREADS, (self.integers, self.size, self.stride, memory))
            self._entries = memory
        return self._entries


def entry_words(matrix: IntegerMatrix) -> int:
    """Words that hold a matrix's entries: two for int64, whatever they are."""
    return 2 if matrix.entries.dtype == np.int64 else matrix.largest.bit_length() // 32 + 1


def matrix_words(device: CudaDevice, matrix: IntegerMatrix) -> tuple[Memory, int]:
    """A matrix in words [n, n, count], and their count."""
    count = entry_words(matrix)
    return upload_words(device, matrix.entries, count), count


def upload_words(device: CudaDevice, integers: HostArray, count: int) -> Memory:
    """Integers in words [..., count]."""
    if integers.dtype == np.int64 and count == 2:
        return device.upload(np.ascontiguousarray(integers))
    return device.upload(mp.words_of(integers, count))


class Residual(Protocol):
    """What is left of a right-hand side b [n, c]: r, as b = A (x_0 + P x_1 + ...) + P**steps r."""

    def lift(self, digits: int, steps: int) -> None:
        """Take steps, of one right-hand side at least; at the address are digits [steps, c, n, digit_words]."""

    def integers(self) -> HostArray:
        """r [n, c], on the host."""


class _Steps(ABC):
    """Digits of a step, from the residues of what is left."""

    def __init__(self, system: System, columns: int) -> None:
        self._system, self._columns = system, columns
        device, primes = system.device, len(system.base.moduli)
        self._residues = device.allocate(primes * columns * system.stride)
        self._low = device.allocate(8 * columns * system.stride)
        device.clear(self._residues)
        device.clear(self._low)
        self._taken = 1 if columns == 1 else DIGIT_COLUMNS
        macros: dict[str, int | str] = {"WORDS": system.digit_words, "COLUMNS": self._taken, "ENTRY": "int32_t"}
        self._digit_kernels = Kernels(device, "steps", macros)
        base, constant = system.base, system.constant
        tables_ = tables.constants(base), tables.reciprocals(base), tables.cofactors(base)
        self._crt = [constant(table) for table in tables_]
        self._sizes = system.size, system.stride, columns

    def _spread(self, words: Memory, count: int) -> None:
        """Residues of r, in words [c, n, count]."""
        system = self._system
        kernels = Kernels(system.device, "inverse")
        shape = (self._columns, system.size, count)
        residues(kernels, system.constant, system.base, words, shape, self._residues)

    def lift(self, digits: int, steps: int) -> None:
        octets = 4 * self._system.digit_words * self._columns * self._system.size
        stream = self._system.device.stream
        for step in range(steps):
            self._step(digits + octets * step, stream)

    @abstractmethod
    def _step(self, digits: int, stream: int) -> None:
        """Take a step; at the address are digits [c, n, digit_words]."""

    def _digits(self, digits: int, stream: int) -> None:
        self._digit_launch.arguments[DIGITS_AT].value = digits
        self._digit_launch.run(stream)

    @cached_property
    def _digit_launch(self) -> Launch:
        system = self._system
        return self._digit_kernels.prepared(
            "xl_system_digits",
            (-(-system.size // ROWS), -(-self._columns // self._taken)),
            THREADS,
            (
                *(system.inverse.memory, self._residues, *self._sizes, len(system.base.moduli)),
                *(*self._crt, 0, self._low),
            ),
        )


class NarrowResidual(_Steps):
    """Residuals of 64 bits, which are known from A x modulo 2**64."""

    def __init__(self, system: System, right_side: HostArray) -> None:
        columns = right_side.shape[1]
        super().__init__(system, columns)
        taken = 1 if columns == 1 else RESIDUAL_COLUMNS
        macros: dict[str, int | str] = {"WORDS": system.digit_words, "COLUMNS": taken, "ENTRY": system.entry}
        self._kernels = Kernels(system.device, "steps", macros)
        self._now = upload_words(system.device, right_side.T, 2)
        self._next = system.device.allocate(8 * right_side.size)
        self._matrix = system.entries(self._kernels)
        self._grid = (-(-system.size * WARP // THREADS), -(-columns // taken))
        reciprocal = pow(system.base.product, -1, 1 << 64)
        self._reciprocal = reciprocal - (1 << 64) if reciprocal >> 63 else reciprocal
        self._powers = system.constant(tables.powers(system.base, 2))
        self._spread(self._now, 2)

    def _step(self, digits: int, stream: int) -> None:
        self._digits(digits, stream)
        self._launches[0].run(stream)
        self._launches = self._launches[::-1]
        self._now, self._next = self._next, self._now

    @cached_property
    def _launches(self) -> tuple[Launch, Launch]:
        """What makes the next residual of the present one, and what makes that the other way round."""
        now, after = (
            self._kernels.prepared(
                "xl_system_residuals",
                self._grid,
                THREADS,
                (
                    *(self._matrix, self._low, *self._sizes, self._reciprocal, len(self._system.base.moduli)),
                    *(self._crt[0], self._powers, *pair, self._residues),
                ),
            )
            for pair in ((self._now, self._next), (self._next, self._now))
        )
        return now, after

    def integers(self) -> HostArray:
        shape = (self._columns, self._system.size)
        return self._system.device.download(self._now, np.dtype(np.int64), shape).T


class WideResidual(_Steps):
    """Residuals of many words, by the schoolbook's products and Hensel's division."""

    def __init__(self, system: System, right_side: HostArray, words: int) -> None:
        super().__init__(system, right_side.shape[1])
        self._words = words
        self._now = upload_words(system.device, right_side.T, words)
        self._next = system.device.allocate(4 * words * right_side.size)
        self._sums = system.device.allocate(16 * words * right_side.size)
        self._product = system.constant(tables.cofactors(system.base)) + 4 * system.digit_words * len(
            system.base.moduli
        )
        self._spread(self._now, words)

    def _step(self, digits: int, stream: int) -> None:
        system, (size, _, columns), words = self._system, self._sizes, self._words
        self._digits(digits, stream)
        self._digit_kernels.launch(
            "xl_system_sums",
            (-(-words // WARP), size, columns),
            WARP,
            (system.integers, system.entry_words, digits, size, columns, words, self._sums),
        )
        reciprocal = pow(system.base.product, -1, 1 << 32)
        self._digit_kernels.launch(
            "xl_system_divide",
            (-(-size * columns // WARP),),
            WARP,
            (self._sums, size * columns, words, self._product, reciprocal, self._now, self._next),
        )
        self._now, self._next = self._next, self._now
        self._spread(self._now, words)

    def integers(self) -> HostArray:
        shape = (self._columns, self._system.size, self._words)
        return mp.from_words(self._system.device.download(self._now, np.dtype(np.uint32), shape)).T


def residual(system: System, right_side: HostArray) -> Residual:
    """What is left of a right-hand side in the beginning: all of it."""
    words = system.words(right_side)
    if words <= 2 and right_side.dtype == np.int64 and system.entry_words == 2:
        return NarrowResidual(system, right_side)
    return WideResidual(system, right_side, max(words, 2))
