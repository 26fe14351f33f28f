"""intvalpy: interval arrays on NumPy with loops in Python, for small products only."""

from typing import Any

import numpy as np

from bench.contestant import Bounds, Guarantee, Job, Problem
from bench.peers.importing import LibraryPeer, load


class _IntvalpyJob(Job):
    def __init__(self, problem: Problem) -> None:
        library = load("intvalpy")
        a, b = problem.a.astype(np.float64), problem.b.astype(np.float64)
        self._a = library.Interval(a, a)
        self._b = library.Interval(b, b)

    def run(self) -> Any:
        return self._a @ self._b

    def bounds(self, result: Any) -> Bounds:
        return np.asarray(result.a, dtype=np.float64), np.asarray(result.b, dtype=np.float64)


class IntvalpyProduct(LibraryPeer):
    """Interval arrays of intvalpy."""

    name = "intvalpy"
    summary = "intvalpy interval arrays"
    guarantee = Guarantee.ENCLOSURE
    module = "intvalpy"
    distribution = "intvalpy"

    def refuses(self, problem: Problem) -> str | None:
        return "loops in Python: timed up to n = 64" if max(problem.shape) > 64 else None

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _IntvalpyJob(problem)
