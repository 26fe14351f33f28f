"""precise-numpy: midpoint-radius arrays in Rust, a product by four float64 matmuls."""

from typing import Any

import numpy as np

from bench.contestant import Bounds, Guarantee, Job, Problem
from bench.peers.importing import LibraryPeer, load


class _PreciseJob(Job):
    def __init__(self, problem: Problem) -> None:
        library = load("precise_numpy")
        self._a = library.from_numpy(problem.a.astype(np.float64))
        self._b = library.from_numpy(problem.b.astype(np.float64))
        self._shape = (problem.shape[0], problem.shape[2])

    def run(self) -> Any:
        return self._a @ self._b

    def bounds(self, result: Any) -> Bounds:
        middle = np.asarray(result.values(), dtype=np.float64).reshape(self._shape)
        radius = np.asarray(result.radii(), dtype=np.float64).reshape(self._shape)
        return np.nextafter(middle - radius, -np.inf), np.nextafter(middle + radius, np.inf)


class PreciseProduct(LibraryPeer):
    """Interval arrays of precise-numpy."""

    name = "precise-numpy"
    summary = "precise-numpy interval product, four matmuls in Rust"
    guarantee = Guarantee.ENCLOSURE
    module = "precise_numpy"
    distribution = "precise-numpy"

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _PreciseJob(problem)
