"""pyintval: correctly rounded scalar intervals in C++, multiplied as NumPy object arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt

from bench.contestant import Bounds, FloatArray, Guarantee, Job, Problem
from bench.peers.importing import LibraryPeer, load


class _PyintvalJob(Job):
    def __init__(self, problem: Problem) -> None:
        self._a = _intervals(problem.a)
        self._b = _intervals(problem.b)

    def run(self) -> Any:
        return self._a @ self._b

    def bounds(self, result: Any) -> Bounds:
        lo = np.array([x.lo for x in result.flat], dtype=np.float64).reshape(result.shape)
        hi = np.array([x.hi for x in result.flat], dtype=np.float64).reshape(result.shape)
        return lo, hi


def _intervals(x: FloatArray) -> npt.NDArray[np.object_]:
    interval = load("pyintval").Interval
    array = np.empty(x.shape, dtype=object)
    array[...] = [[interval(value) for value in row] for row in x.tolist()]
    return array


class PyintvalProduct(LibraryPeer):
    """Object arrays of pyintval's intervals."""

    name = "pyintval"
    summary = "NumPy object arrays of pyintval intervals"
    guarantee = Guarantee.ENCLOSURE
    module = "pyintval"
    distribution = "pyintval"

    def refuses(self, problem: Problem) -> str | None:
        return "one Python call a term: timed up to n = 128" if max(problem.shape) > 128 else None

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _PyintvalJob(problem)
