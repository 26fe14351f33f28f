"""The `Lifting` and the `Expansion` of CUDA devices: what stays on the device from the first step to the numbers."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from exactla.core.moduli import ResidueBase
from exactla.core.scaling import largest
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.systems import numbers, steps
from exactla_backends.cuda.systems.inverse import inverses
from exactla_backends.device.constants import Constants
from exactla_backends.device.device import HostArray

PRIME_LIMIT, PRIMES = 256, 29
"""Primes of a lifting are below this, and so many of them: 101 and up."""

LEAST_SIZE = 96
"""Sides of systems below which the host is done before a device has begun."""


class CudaLifting:
    """See `exactla.backend.Lifting`: the postconditions are there."""

    def __init__(self, device: CudaDevice, constant: Constants, matrix: HostArray, primes: ResidueBase) -> None:
        size, count = len(matrix), steps.matrix_words(matrix, largest(matrix))
        words = steps.upload_words(device, matrix, count)
        self._inverse = inverses(device, constant, words, size, count, primes)
        self.base = self._inverse.base
        self.system = steps.System(device, constant, matrix, self._inverse)
        self.system.keep(words)

    @cached_property
    def determinants(self) -> tuple[int, ...]:
        return self._inverse.determinants

    def lift(self, residual: HostArray, steps: int) -> tuple[HostArray, HostArray]:
        expansion = self.expand(residual, np.ones(residual.size, np.int64))
        expansion.lift(steps)
        return expansion.digits(), expansion.residual()

    def expand(self, right_side: HostArray, weights: HostArray) -> "CudaExpansion":
        return CudaExpansion(self.system, right_side, weights)


class CudaExpansion:
    """See `exactla.backend.Expansion`. Whatever device is the current one, work is done on that of the inverse."""

    def __init__(self, system: steps.System, right_side: HostArray, weights: HostArray) -> None:
        self._system = system
        self._shape = right_side.shape
        with system.at_home():
            self._residual = steps.residual(system, right_side)
            self._weights = system.device.upload(weights.astype(np.int32))
        self._parts: list[numbers.Digits] = []
        self._combined: list[int] = []

    def lift(self, steps: int) -> None:
        device, words = self._system.device, self._system.digit_words
        entries = self._shape[0] * self._shape[1]
        octets = 4 * words * entries
        with self._system.at_home():
            memory = device.allocate(octets * steps)
            for step in range(steps):
                self._residual.step(memory + octets * step)
            part = numbers.Digits(memory, steps, entries, words)
            self._parts.append(part)
            # the only wait: whoever interrupts has no more than these steps to wait for
            self._combined += numbers.combinations(device, part, self._weights)

    def combinations(self) -> list[int]:
        return self._combined

    def multiply(self, weights: Sequence[int], modulus: int) -> numbers.PackedNumbers:
        with self._system.at_home():
            self._parts = [numbers.joined(self._system.device, self._parts)]
            return numbers.multiply(self._system.device, self._parts[0], weights, modulus)

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
