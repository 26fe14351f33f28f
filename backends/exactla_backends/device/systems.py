"""Verbs for systems of equations and long integers, which devices have no kernels for: the host's backend lends its."""

from collections.abc import Sequence

from exactla import registry
from exactla.backend import Backend, Lifting, Minor, Multiprecision
from exactla.core.integers import IntegerMatrix
from exactla.core.moduli import ResidueBase
from exactla.core.reconstruction import Halving
from exactla_backends.device.device import HostArray


class BorrowedSystems:
    """Exact solving and multiple precision of `exactla.backend.Backend` by the preferred backend of the host."""

    @property
    def _host(self) -> Backend:
        return registry.default("cpu")

    @property
    def multiprecision(self) -> Multiprecision:
        return self._host.multiprecision

    @property
    def halving(self) -> Halving:
        return self._host.halving

    @property
    def least_lifting(self) -> int:
        return self._host.least_lifting

    @property
    def most_searched(self) -> int:
        return self._host.most_searched

    @property
    def prime_limits(self) -> tuple[int, ...]:
        return self._host.prime_limits

    def prime_count(self, size: int, limit: int) -> int:
        return self._host.prime_count(size, limit)

    def solving_bytes(self) -> int:
        return self._host.solving_bytes()

    def lifting_bytes(self, size: int, count: int) -> int:
        return self._host.lifting_bytes(size, count)

    def lifting(self, matrix: IntegerMatrix, primes: ResidueBase) -> Lifting:
        return self._host.lifting(matrix, primes)

    def minors(self, matrix: HostArray, primes: Sequence[int]) -> list[Minor]:
        return self._host.minors(matrix, primes)

    def minor_limits(self, shape: tuple[int, int]) -> tuple[int, ...]:
        return self._host.minor_limits(shape)

    def cramer(self, matrix: HostArray, right_side: HostArray, primes: Sequence[int]) -> tuple[HostArray, HostArray]:
        return self._host.cramer(matrix, right_side, primes)
