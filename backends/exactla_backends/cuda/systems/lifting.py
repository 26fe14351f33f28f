"""The `Lifting` and the `Expansion` of CUDA devices: what stays on the device from the first step to the numbers."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from exactla.backend import Minor
from exactla.core.expansion import integers_by_entry
from exactla.core.integers import IntegerMatrix
from exactla.core.moduli import ResidueBase
from exactla.core.numerators import PackedNumbers
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.matrix.matrix import CudaMatrix
from exactla_backends.cuda.systems import numbers, steps
from exactla_backends.cuda.systems.inverse import Inversion
from exactla_backends.device.constants import Constants
from exactla_backends.device.device import HostArray

PRIME_LIMIT, PRIMES = 256, 29
"""Primes of a lifting are below this, and so many of them: 101 and up."""

LEAST_SIZE = 96
"""Sides of systems below which the host is done before a device has begun."""


MOST_ROWS = 4
"""Times as many rows as columns, or the reverse, up to which a device's elimination is worth its zeros."""


def is_nearly_square(shape: tuple[int, ...]) -> bool:
    """Whether a matrix of that shape is large enough for a device, and not too long when filled up to be square."""
    return LEAST_SIZE <= max(shape) <= MOST_ROWS * min(shape)


def minors(device: CudaDevice, constant: Constants, matrix: HostArray, primes: ResidueBase) -> list[Minor]:
    """See `exactla.backend.Backend.minors`; primes are odd and below PRIME_LIMIT."""
    size = max(matrix.shape)
    filled = np.zeros((size, size), matrix.dtype)
    filled[: matrix.shape[0], : matrix.shape[1]] = matrix
    words, count = steps.matrix_words(device, IntegerMatrix(filled))
    return Inversion(device, constant, words, size, count, primes).minors()


class CudaLifting:
    """See `exactla.backend.Lifting`: the postconditions are there."""

    def __init__(
        self,
        device: CudaDevice,
        constant: Constants,
        units: CudaMatrix,
        matrix: IntegerMatrix,
        primes: ResidueBase,
    ) -> None:
        self._device, self._constant, self._units, self._matrix = device, constant, units, matrix
        self._words, count = steps.matrix_words(device, matrix)
        self._inversion: Inversion | None = Inversion(device, constant, self._words, len(matrix), count, primes)

    @property
    def base(self) -> ResidueBase:
        return self.system.base

    @cached_property
    def system(self) -> steps.System:
        """The matrix ready for steps, once the device that is the current one has its inverses."""
        if self._inversion is None:
            raise RuntimeError("an inversion was interrupted")
        inverse, self._inversion = self._inversion.finished(), None  # whose memory is let go
        return steps.System(self._device, self._constant, self._matrix, self._words, inverse)

    @cached_property
    def determinants(self) -> tuple[int, ...]:
        return self.system.inverse.determinants

    def lift(self, residual: HostArray, steps: int) -> tuple[HostArray, HostArray]:
        expansion = self.expand(residual, np.ones(residual.size, np.int64))
        expansion.lift(steps)
        return expansion.digits(), expansion.residual()

    def expand(self, right_side: HostArray, weights: HostArray) -> "CudaExpansion":
        return CudaExpansion(self.system, self._units, right_side, weights)


class CudaExpansion:
    """See `exactla.backend.Expansion`. Whatever device is the current one, work is done on that of the inverse."""

    def __init__(self, system: steps.System, units: CudaMatrix, right_side: HostArray, weights: HostArray) -> None:
        self._system, self._units = system, units
        self._shape = right_side.shape
        with system.at_home():
            self._residual = steps.residual(system, right_side)
            self._weights = system.device.upload(weights.astype(np.int32))
        self._parts: list[numbers.Digits] = []
        self._combined: list[int] = []

    def lift(self, steps: int) -> None:
        device, words = self._system.device, self._system.digit_words
        entries = self._shape[0] * self._shape[1]
        with self._system.at_home():
            memory = device.allocate(4 * words * entries * steps)
            if entries:
                self._residual.lift(memory.ptr, steps)
            part = numbers.Digits(memory, steps, entries, words)
            self._parts.append(part)
            # the only wait: whoever interrupts has no more than these steps to wait for
            self._combined += numbers.combinations(device, part, self._weights)

    def combinations(self) -> list[int]:
        return self._combined

    def leading(self, count: int, steps: int) -> list[list[int]]:
        with self._system.at_home():
            parts = [numbers.leading(self._system.device, part, count) for part in self._parts]
        return integers_by_entry(np.concatenate(parts)[:steps])

    def multiply(self, weights: Sequence[int], modulus: int) -> PackedNumbers:
        with self._system.at_home():
            self._parts = [numbers.joined(self._system.device, self._parts)]
            return numbers.multiply(self._system.device, self._units, self._parts[0], weights, modulus)

    def digits(self) -> HostArray:
        """Digits as `Lifting.lift` gives them."""
        size, columns = self._shape
        words = self._system.digit_words
        with self._system.at_home():
            parts = [
                self._system.device.download(part.memory, np.dtype(np.uint32), (part.steps, columns, size, words))
                for part in self._parts
            ]
        return np.concatenate(parts).view(np.uint16)

    def residual(self) -> HostArray:
        """What is left of the right-hand side."""
        with self._system.at_home():
            return self._residual.integers()
