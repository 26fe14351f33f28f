"""Who multiplies matrices of multiple precision: exactla, arb, MPFR numbers, and loops in C over components."""

import ctypes
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import exactla as xl
from bench import peaks
from bench.contestant import Contestant, Guarantee, Job, Problem
from bench.lu_solvers import LARGEST
from bench.multiprecision import MPJob, MPProblem
from bench.multiprecision_peers import ArbJob, ArbPeer, Own, checked
from bench.peers.importing import LibraryPeer, load

_SOURCE = Path(__file__).with_name("components.c")


class _MmJob(MPJob):
    def __init__(self, problem: MPProblem, backend: str) -> None:
        self._problem, self._backend = problem, backend

    def compute(self) -> Any:
        problem = self._problem
        with xl.backend(self._backend):
            # components are rounded to as many
            return xl.mp_mm(problem.a, problem.b, None if problem.components else problem.precision)

    def mp(self, result: Any) -> Any:
        return result

    def details(self) -> Mapping[str, object]:
        return {"backend": self._backend}


class ExactlaMm(Own):
    """`exactla.mp_mm` on one backend; components are converted before and after within the time."""

    name = "mp_mm"
    call = "exactla.mp_mm"

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _MmJob(checked(problem), self._backend)


class _ArbJob(ArbJob):
    def answer(self) -> Any:
        return self._a * self._b


class ArbProduct(ArbPeer):
    """FLINT's ball matrices at a working precision."""

    guarantee = Guarantee.ENCLOSURE
    call = "FLINT arb_mat product"
    job = _ArbJob

    def refuses(self, problem: Problem) -> str | None:
        return "for numbers, not components" if checked(problem).components else None


class _MpfrJob(MPJob):
    def __init__(self, problem: MPProblem) -> None:
        self._gmpy2, self._precision = load("gmpy2"), problem.precision
        self._a, self._b = (x.to_mpfr().tolist() for x in (problem.a, problem.b.T))

    def compute(self) -> Any:
        with self._gmpy2.context(precision=self._precision):
            return [[_inner(row, column) for column in self._b] for row in self._a]

    def mp(self, result: Any) -> Any:
        return xl.MPArray.from_mpfr(result)


def _inner(row: list[Any], column: list[Any]) -> Any:
    total = row[0] * column[0]
    for x, y in zip(row[1:], column[1:], strict=True):
        total += x * y
    return total


class MpfrProduct(LibraryPeer):
    """Three loops over MPFR numbers."""

    name = "mpfr"
    summary = "loops over gmpy2.mpfr"
    guarantee = Guarantee.NONE
    module = "gmpy2"
    distribution = "gmpy2"

    def refuses(self, problem: Problem) -> str | None:
        if checked(problem).components:
            return "for numbers, not components"
        limit = LARGEST["gmpy2"]
        return f"a loop in Python over MPFR numbers: timed up to n = {limit}" if max(problem.shape) > limit else None

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _MpfrJob(checked(problem))


class _LoopJob(MPJob):
    """Works on planes of components, [count, rows, columns]."""

    def __init__(self, problem: MPProblem, threads: int) -> None:
        if problem.components is None:
            raise TypeError("components only")
        self._count, self._n, self._threads = problem.components, problem.shape[0], threads
        self._a, self._b = (np.ascontiguousarray(np.moveaxis(x, -1, 0)) for x in (problem.a, problem.b))
        self._folder = tempfile.TemporaryDirectory(prefix="exactla-bench-")
        library = Path(self._folder.name) / "components.so"
        peaks.compile_library(_SOURCE, library)
        self._multiply = ctypes.CDLL(str(library)).multiply

    def compute(self) -> Any:
        found = np.zeros_like(self._a)
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (self._a, self._b, found)]
        self._multiply(*pointers, ctypes.c_int(self._n), ctypes.c_int(self._count), ctypes.c_int(self._threads))
        return found

    def mp(self, result: Any) -> Any:
        return np.ascontiguousarray(np.moveaxis(result, 0, -1))

    def close(self) -> None:
        self._folder.cleanup()


class ComponentLoops(Contestant):
    """Loops in C over double-double, triple-double or quad-double numbers, on the threads of OpenMP."""

    name = "c-loops"
    summary = "three loops in C over DD, TD or QD, OpenMP"
    guarantee = Guarantee.NONE

    def missing(self) -> str | None:
        return peaks.missing()

    def refuses(self, problem: Problem) -> str | None:
        product = checked(problem)
        if product.components is None:
            return "for components only"
        return "square matrices only" if len(set(product.shape)) > 1 else None

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _LoopJob(checked(problem), threads)


PEERS: dict[str, Contestant] = {
    peer.name: peer for peer in (ComponentLoops(), ArbProduct(None), ArbProduct(1), MpfrProduct())
}
"""Peers of multiple-precision products, by name, in the order of the tables."""
