"""NumPy's own matmul in the operands' dtype: the speed that a user gives up for a guarantee."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.contestant import Bounds, Contestant, FloatArray, Guarantee, Job, Problem


class _MatmulJob(Job):
    def __init__(self, a: FloatArray, b: FloatArray) -> None:
        self._a = a
        self._b = b

    def run(self) -> Any:
        return self._a @ self._b

    def bounds(self, result: Any) -> Bounds:
        return result, result


class NumpyProduct(Contestant):
    """The BLAS behind NumPy."""

    name = "numpy"
    summary = "NumPy matmul in the operands' dtype, no bound"
    guarantee = Guarantee.NONE

    def version(self) -> str:
        return np.__version__

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _MatmulJob(problem.a, problem.b)

    def prepare_batch(self, problems: Sequence[Problem], threads: int) -> Job:
        return _MatmulJob(np.stack([p.a for p in problems]), np.stack([p.b for p in problems]))
