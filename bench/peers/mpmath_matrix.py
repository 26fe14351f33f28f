"""mpmath's interval matrices, `mpmath.iv.matrix`, at 53 bits: pure Python, for small products only."""

from typing import Any

from bench.contestant import Bounds, Guarantee, Job, Problem
from bench.exact import outward
from bench.peers.importing import LibraryPeer, load


class _MpmathJob(Job):
    def __init__(self, problem: Problem) -> None:
        iv = load("mpmath").iv
        self._a = iv.matrix(problem.a.tolist())
        self._b = iv.matrix(problem.b.tolist())
        self._shape = (problem.shape[0], problem.shape[2])

    def run(self) -> Any:
        return self._a * self._b

    def bounds(self, result: Any) -> Bounds:
        m, n = self._shape
        ends = [result[i, j]._mpi_ for i in range(m) for j in range(n)]
        return outward(((_dyadic(lower), _dyadic(upper)) for lower, upper in ends), self._shape)


def _dyadic(value: Any) -> tuple[int, int]:
    sign, man, exp, _ = value
    return (-int(man) if sign else int(man)), int(exp)


class MpmathProduct(LibraryPeer):
    """Intervals of mpmath."""

    name = "mpmath"
    summary = "mpmath interval matrices at 53 bits"
    guarantee = Guarantee.ENCLOSURE
    module = "mpmath"
    distribution = "mpmath"

    def refuses(self, problem: Problem) -> str | None:
        return "pure Python: timed up to n = 64" if max(problem.shape) > 64 else None

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _MpmathJob(problem)
