"""Who solves systems of multiple precision: exactla, arb, mpmath, and LU factorisations of our own on gmpy2's MPFR."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import exactla as xl
from bench import lu_steps
from bench.contestant import Contestant, Guarantee, Job, Problem
from bench.multiprecision import MPJob, MPProblem
from bench.multiprecision_peers import ArbJob, ArbPeer, Own, checked
from bench.peers.importing import LibraryPeer, load

Rows = list[list[Any]]

BLOCK = 32
"""Columns of a panel of the blocked factorisation."""

LARGEST = {"mpmath": 64, "gmpy2": 256}
"""Longest sides that are worth timing."""


class _LuJob(MPJob):
    def __init__(self, problem: MPProblem, backend: str, refine: int, with_steps: bool) -> None:
        self._problem, self._backend, self._refine, self._with_steps = problem, backend, refine, with_steps
        self._details: dict[str, object] = {"backend": backend}

    def compute(self) -> Any:
        with xl.backend(self._backend):
            start = perf_counter()
            factors = self._factored()
            lu_steps.wait(self._backend)
            factored = perf_counter()
            solution = self._solved(factors)
            lu_steps.wait(self._backend)
            solved = perf_counter()
        parts = dict(factors.info.seconds or {})
        parts |= {"other": factored - start - sum(parts.values()), "substitution": solved - factored}
        self._details |= {"parts": parts, "info": str(factors.info)}
        return solution

    def _factored(self) -> Any:
        return xl.lu_factor(self._problem.a, precision=self._problem.precision)

    def _solved(self, factors: Any) -> Any:
        return factors.solve(self._problem.b, refine=self._refine)

    def mp(self, result: Any) -> Any:
        return result

    def details(self) -> Mapping[str, object]:
        """Of the last call: seconds of the parts of the factorisation and of the substitution, and the plan.

        Where they are asked for, steps on the device and the digest of the factors, of a further call.
        """
        return self._details | (self._steps() if self._with_steps else {})

    def _steps(self) -> dict[str, object]:
        with xl.backend(self._backend):
            factors, factoring = lu_steps.timed(self._factored)
            _, solving = lu_steps.timed(lambda: self._solved(factors))
            digest = xl.digest(factors.perm, factors.L, factors.U)
        return {"steps": {"factors": factoring, "solution": solving}, "digest": digest}


class ExactlaLU(Own):
    """`exactla.lu_factor` and `LU.solve` on one backend; with steps of refinement, and times of steps on a device."""

    def __init__(self, backend: str, refine: int = 0, *, with_steps: bool = False) -> None:
        self.name = "lu_factor" if not refine else f"lu_factor-refine{refine}"
        self.call = "exactla.lu_factor and solve" + (f"(refine={refine})" if refine else "")
        super().__init__(backend)
        self._refine, self._with_steps = refine, with_steps

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _LuJob(checked(problem), self._backend, self._refine, self._with_steps)


class _ArbJob(ArbJob):
    def answer(self) -> Any:
        return self._a.solve(self._b, algorithm="approx")


class ArbSolve(ArbPeer):
    """FLINT's arb: recursive LU at a working precision, without error bounds."""

    guarantee = Guarantee.NONE
    call = 'FLINT arb_mat.solve, "approx"'
    job = _ArbJob


class _MpmathJob(MPJob):
    def __init__(self, problem: MPProblem) -> None:
        self._mp, self._precision = load("mpmath"), problem.precision
        with self._mp.workprec(problem.precision):
            self._a = self._mp.matrix(problem.a.to_mpmath().tolist())
            self._b = self._mp.matrix(problem.b.to_mpmath().tolist())

    def compute(self) -> Any:
        with self._mp.workprec(self._precision):
            return self._mp.lu_solve(self._a, self._b)

    def mp(self, result: Any) -> Any:
        return xl.MPArray.from_mpmath(result)


class MpmathSolve(LibraryPeer):
    """mpmath's LU, in Python."""

    name = "mpmath"
    summary = "mpmath lu_solve"
    guarantee = Guarantee.NONE
    module = "mpmath"
    distribution = "mpmath"

    def refuses(self, problem: Problem) -> str | None:
        limit = LARGEST["mpmath"]
        return f"pure Python: timed up to n = {limit}" if max(problem.shape) > limit else None

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _MpmathJob(checked(problem))


class _NaiveJob(MPJob):
    def __init__(self, problem: MPProblem, factor: Callable[[Rows, list[Any]], None]) -> None:
        self._gmpy2, self._factor = load("gmpy2"), factor
        self._precision = problem.precision
        self._a, self._b = problem.share("gmpy2", lambda: tuple(x.to_mpfr() for x in (problem.a, problem.b)))

    def compute(self) -> list[Any]:
        with self._gmpy2.context(precision=self._precision):
            a = [[+entry for entry in row] for row in self._a]
            b = [+entry for entry in self._b]
            self._factor(a, b)
            return _substitute(a, b)

    def mp(self, result: Any) -> Any:
        return xl.MPArray.from_mpfr(result)


class Naive(LibraryPeer):
    """Gaussian elimination with partial pivoting on MPFR numbers, every operation rounded."""

    guarantee = Guarantee.NONE
    module = "gmpy2"
    distribution = "gmpy2"

    def __init__(self, name: str, summary: str, factor: Callable[[Rows, list[Any]], None]) -> None:
        self.name, self.summary, self._factor = name, summary, factor

    def version(self) -> str:
        return f"{super().version()} ({load('gmpy2').mpfr_version()})"

    def refuses(self, problem: Problem) -> str | None:
        limit = LARGEST["gmpy2"]
        return f"a loop in Python over MPFR numbers: timed up to n = {limit}" if max(problem.shape) > limit else None

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _NaiveJob(checked(problem), self._factor)


def unblocked(a: Rows, b: list[Any]) -> None:
    """Factors in place of a, row by row; b goes through the same interchanges and is reduced by L."""
    _panel(a, b, 0, len(a), len(a))


def blocked(a: Rows, b: list[Any]) -> None:
    """The same, panel by panel: the rest is updated once a panel, an inner product an entry."""
    n = len(a)
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        _panel(a, b, first, last, last)
        for i in range(first + 1, last):  # the rows of U beside the panel
            row = a[i]
            for k in range(first, i):
                factor, above = row[k], a[k]
                row[last:] = [x - factor * u for x, u in zip(row[last:], above[last:], strict=True)]
        columns = [[a[k][j] for k in range(first, last)] for j in range(last, n)]
        for i in range(last, n):
            row = a[i]
            left = row[first:last]
            for j, column in enumerate(columns, last):
                total = row[j]
                for x, u in zip(left, column, strict=True):
                    total -= x * u
                row[j] = total


def _panel(a: Rows, b: list[Any], first: int, last: int, width: int) -> None:
    """Eliminate the columns first:last in rows first:, columns up to width."""
    n = len(a)
    for k in range(first, last):
        pivot = max(range(k, n), key=lambda i: abs(a[i][k]))
        a[k], a[pivot] = a[pivot], a[k]
        b[k], b[pivot] = b[pivot], b[k]
        above, reciprocal = a[k], 1 / a[k][k]
        tail = above[k + 1 : width]
        for i in range(k + 1, n):
            row = a[i]
            factor = row[k] = row[k] * reciprocal
            row[k + 1 : width] = [x - factor * u for x, u in zip(row[k + 1 : width], tail, strict=True)]
            b[i] -= factor * b[k]


def _substitute(a: Rows, b: list[Any]) -> list[Any]:
    for i in reversed(range(len(a))):
        total = b[i]
        for u, x in zip(a[i][i + 1 :], b[i + 1 :], strict=True):
            total -= u * x
        b[i] = total / a[i][i]
    return b


PEERS: dict[str, Contestant] = {
    peer.name: peer
    for peer in (
        ArbSolve(None),
        ArbSolve(1),
        Naive("mpfr-blocked", "blocked LU on gmpy2.mpfr", blocked),
        Naive("mpfr", "LU on gmpy2.mpfr, row by row", unblocked),
        MpmathSolve(),
    )
}
"""Peers of multiple-precision systems, by name, in the order of the tables."""
