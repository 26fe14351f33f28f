"""FLINT's integer matrices, by python-flint: the exact product of scaled floats, and of integers of a fixed width.

`fmpz-scaled` is what exactla computes before it rounds: each row of a and each column of b times a power of two, so
that all entries are integers. The fixed widths show what FLINT costs on integers of that many bits.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.contestant import Bounds, FloatArray, Guarantee, Job, Problem
from bench.exact import Integers, outward, scale_rows
from bench.peers.importing import LibraryPeer, load


def _width(rows: Integers) -> int:
    return max((abs(value).bit_length() for row in rows for value in row), default=0)


class _IntegerJob(Job):
    def __init__(self, a: Integers, b: Integers) -> None:
        flint = load("flint")
        self._a = flint.fmpz_mat(a)
        self._b = flint.fmpz_mat(b)
        self._bits = (_width(a), _width(b))

    def run(self) -> Any:
        return self._a * self._b

    def details(self) -> Mapping[str, object]:
        return {"bits_a": self._bits[0], "bits_b": self._bits[1]}


class _ScaledJob(_IntegerJob):
    def __init__(self, problem: Problem) -> None:
        a, self._row_exponents = scale_rows(problem.a)
        columns, self._column_exponents = scale_rows(problem.b.T)
        super().__init__(a, [list(row) for row in zip(*columns, strict=True)])

    def bounds(self, result: Any) -> Bounds:
        exponents = [r + c for r in self._row_exponents for c in self._column_exponents]
        values = zip(map(int, result.entries()), exponents, strict=True)
        shape = (len(self._row_exponents), len(self._column_exponents))
        return outward(((value, value) for value in values), shape)


class _FlintIntegers(LibraryPeer):
    guarantee = Guarantee.EXACT
    module = "flint"
    distribution = "python-flint"

    def version(self) -> str:
        return f"{load('flint').__FLINT_VERSION__} (python-flint {super().version()})"


class ScaledProduct(_FlintIntegers):
    """The same product as exactla's, exact, without the rounding."""

    name = "fmpz-scaled"
    summary = "FLINT fmpz_mat product of the operands scaled to integers, exact, not rounded"

    def prepare(self, problem: Problem, threads: int) -> Job:
        load("flint").ctx.threads = threads
        return _ScaledJob(problem)


class IntegerProduct(_FlintIntegers):
    """A product of integers of a fixed width, in the shape of the problem."""

    def __init__(self, bits: int) -> None:
        self.name = f"fmpz-{bits}"
        self.summary = f"FLINT fmpz_mat product of {bits}-bit integers"
        self._bits = bits

    def refuses(self, problem: Problem) -> str | None:
        if problem.data != "normal":
            return "integers of a fixed width do not depend on the spread of the data"
        return None

    def prepare(self, problem: Problem, threads: int) -> Job:
        load("flint").ctx.threads = threads
        return _IntegerJob(self._integers(problem.a), self._integers(problem.b))

    def _integers(self, x: FloatArray) -> Integers:
        """The entries, the largest scaled to `bits` bits; bits that a float lacks are random."""
        fractions: npt.NDArray[np.float64] = x.astype(np.float64) / max(float(np.abs(x).max(initial=0.0)), 1e-300)
        generator = np.random.default_rng(self._bits)
        high = (fractions * (2.0 ** min(self._bits, 53) - 1.0)).astype(np.int64)
        extra = max(self._bits - 53, 0)
        low = generator.integers(0, 1 << extra, x.shape)
        return [
            [(upper << extra) + lower for upper, lower in zip(uppers, lowers, strict=True)]
            for uppers, lowers in zip(high.tolist(), low.tolist(), strict=True)
        ]
