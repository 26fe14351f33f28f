"""The textbook bound around NumPy's matmul: the fastest rigorous enclosure, and the loosest.

With u = 2**-53, gamma = K u / (1 - K u) and eta the smallest subnormal, any order of summation, with or without fused
multiply-add, gives |fl(a b) - a b| <= gamma |a| |b| + K eta (N. J. Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., section 3.5). |a| |b| is itself computed with such an error, which the factor below covers.
"""

from typing import Any

import numpy as np

from bench.contestant import Bounds, Contestant, Guarantee, Job, Problem

_UNIT = 2.0**-53
_ETA = 2.0**-1074


class _BoundJob(Job):
    def __init__(self, problem: Problem) -> None:
        self._a = problem.a.astype(np.float64)
        self._b = problem.b.astype(np.float64)
        k = problem.shape[1]
        # gamma / (1 - gamma), doubled for the few roundings in evaluating this and the bound itself
        self._relative = 2.0 * k * _UNIT / (1.0 - 2.0 * k * _UNIT)
        self._absolute = 4.0 * (k + 1) * _ETA

    def run(self) -> Bounds:
        centre = self._a @ self._b
        radius = np.abs(self._a) @ np.abs(self._b)
        radius *= self._relative
        radius += self._absolute
        return np.nextafter(centre - radius, -np.inf), np.nextafter(centre + radius, np.inf)

    def bounds(self, result: Any) -> Bounds:
        lo, hi = result
        return lo, hi


class BoundedProduct(Contestant):
    """Two float64 products and an a-priori bound."""

    name = "numpy-bound"
    summary = "NumPy float64 matmul with Higham's a-priori bound, two matmuls"
    guarantee = Guarantee.ENCLOSURE

    def version(self) -> str:
        return np.__version__

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _BoundJob(problem)
