"""The verbs for systems of equations, which devices have no kernels for yet: the host's own backend lends its."""

from collections.abc import Sequence

from exactla import registry
from exactla.backend import Backend, Lifting, Minor
from exactla.core.moduli import ResidueBase
from exactla.core.reconstruction import Halving
from exactla_backends.device.device import HostArray


class BorrowedSystems:
    """Exact solving of `exactla.backend.Backend` by the preferred backend of the host."""

    @property
    def _host(self) -> Backend:
        return registry.default("cpu")

    @property
    def halving(self) -> Halving:
        return self._host.halving

    @property
    def least_lifting(self) -> int:
        return self._host.least_lifting

    @property
    def prime_limits(self) -> tuple[int, ...]:
        return self._host.prime_limits

    def prime_count(self, size: int, limit: int) -> int:
        return self._host.prime_count(size, limit)

    def lifting(self, matrix: HostArray, primes: ResidueBase) -> Lifting:
        return self._host.lifting(matrix, primes)

    def minors(self, matrix: HostArray, primes: Sequence[int]) -> list[Minor]:
        return self._host.minors(matrix, primes)
