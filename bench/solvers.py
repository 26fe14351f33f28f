"""Who solves linear systems exactly: exactla, FLINT by two of its ways, and IML."""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from time import perf_counter
from typing import Any
from unittest import mock

import numpy as np

import exactla as xl
from bench.contestant import Contestant, Guarantee, Job, Problem
from bench.peers.importing import LibraryPeer, load
from exactla import registry, solving
from exactla.core import dixon, systems
from exactla.core.integers import IntegerMatrix


class _Solve(Job):
    def __init__(self, problem: Problem, backend: str) -> None:
        self._problem, self._backend = problem, backend

    def run(self) -> Any:
        with xl.backend(self._backend):
            return xl.solve(self._problem.a, self._problem.b)

    def details(self) -> Mapping[str, object]:
        """Seconds by part, of one call, and those that Fractions of one right-hand side take."""
        parts: dict[str, float] = {}
        with _timed(parts, self._backend):
            start = perf_counter()
            solution = self.run()
            whole = perf_counter() - start
        parts["other"] = whole - sum(parts.values())
        start = perf_counter()
        solution.numerators  # noqa: B018
        parts["objects"] = perf_counter() - start
        column = solution[:, :1]
        start = perf_counter()
        column.tolist()
        return {"backend": self._backend, "parts": parts, "fractions": perf_counter() - start}


class _Parts:
    """Seconds by part: those of a call without those of the calls that it makes."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._inside = [0.0]

    def of(self, part: str, function: Any) -> Any:
        """The function, timed."""

        def call(*arguments: Any, **keywords: Any) -> Any:
            self._inside.append(0.0)
            start = perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                spent = perf_counter() - start
                self._seconds[part] = self._seconds.get(part, 0.0) + spent - self._inside.pop()
                self._inside[-1] += spent

        return call


_FUNCTIONS = (
    (solving, "read_exact", "reading"),
    (solving, "scaled", "reading"),
    (systems, "find_lifting", "inverse"),
    (dixon, "rational", "reconstruction"),
    (dixon, "centred", "reconstruction"),
    (IntegerMatrix, "prepare", "bounds"),
    (dixon._Solution, "_sum", "integers of digits"),
    (dixon._Solution, "_numerators", "weights"),
)
"""What a solution takes its time with, beside what a backend does for it."""


@contextmanager
def _timed(seconds: dict[str, float], backend: str) -> Iterator[None]:
    """Add up the seconds that the parts of a solution take."""
    timed = _Parts(seconds).of

    def lifting(*arguments: Any) -> Any:
        found: Any = inverse(*arguments)
        found.expand = partial(expansion, timed("lift", found.expand))
        return found

    def expansion(expand: Any, *arguments: Any) -> Any:
        found = expand(*arguments)
        found.lift = timed("lift", found.lift)
        found.leading = timed("witnesses", found.leading)
        found.multiply = timed("numerators", found.multiply)
        return found

    used = registry.load(backend)
    inverse = used.lifting
    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(used, "lifting", lifting))
        for owner, name, part in _FUNCTIONS:
            patches.enter_context(mock.patch.object(owner, name, timed(part, getattr(owner, name))))
        for device in filter(None, [getattr(used, "_device", None)]):
            _time_transfers(device, timed, patches)
        yield


def _time_transfers(device: Any, timed: Any, patches: ExitStack) -> None:
    """Time what goes to a device and comes back, once the device has done what there was to do."""
    wait, octet = device.download, np.dtype(np.uint8)

    def waiting(download: Any) -> Any:
        def call(*arguments: Any) -> Any:
            wait(arguments[0], octet, (1,))  # in the time of whoever asks
            return timed("transfer", download)(*arguments)

        return call

    for name in ("download", "download_pinned", "download_columns"):
        if hasattr(device, name):
            patches.enter_context(mock.patch.object(device, name, waiting(getattr(device, name))))
    patches.enter_context(mock.patch.object(device, "upload", timed("transfer", device.upload)))


class Exactla(Contestant):
    """`exactla.solve` on one backend, from arrays to native numerators and denominator."""

    name = "solve"
    guarantee = Guarantee.EXACT

    def __init__(self, backend: str) -> None:
        self.summary = f"exactla.solve, {backend} backend"
        self._backend = backend

    def version(self) -> str:
        return str(xl.__version__)

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _Solve(problem, self._backend)


class _FlintJob(Job):
    def __init__(self, kind: str, problem: Problem, threads: int) -> None:
        flint = load("flint")
        self._threads = threads
        a, b = (flint.fmpz_mat(x.tolist()) for x in (problem.a, problem.b))
        self._a, self._b = (a, b) if kind == "fmpz" else (flint.fmpq_mat(a), flint.fmpq_mat(b))

    def run(self) -> Any:
        load("flint").ctx.threads = self._threads
        return self._a.solve(self._b)


class Flint(LibraryPeer):
    """FLINT: `fmpq_mat.solve` lifts p-adically, `fmpz_mat.solve` takes many primes from 33 right-hand sides on."""

    guarantee = Guarantee.EXACT
    module = "flint"
    distribution = "python-flint"

    def __init__(self, kind: str, *, single: bool = False) -> None:
        self.name = f"flint-{kind}{'-1' if single else ''}"
        self.summary = f"FLINT {kind}_mat.solve{', on one thread' if single else ''}"
        self._kind, self._single = kind, single

    def version(self) -> str:
        return f"{load('flint').__FLINT_VERSION__} (python-flint {super().version()})"

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _FlintJob(self._kind, problem, 1 if self._single else threads)


class _ImlJob(Job):
    def __init__(self, problem: Problem) -> None:
        load("sage.all__sagemath_modules")
        space = load("sage.matrix.matrix_space").MatrixSpace
        integers = load("sage.rings.integer_ring").ZZ
        self._a, self._b = (space(integers, *x.shape)([int(v) for v in x.flat]) for x in (problem.a, problem.b))

    def run(self) -> Any:
        return self._a._solve_iml(self._b)


class Iml(LibraryPeer):
    """IML through Sage's matrices; its threads are those of its BLAS."""

    name = "iml"
    summary = "IML, as Sage's Matrix_integer_dense calls it"
    guarantee = Guarantee.EXACT
    module = "sage.matrix.matrix_integer_iml"
    distribution = "passagemath-iml"

    def missing(self) -> str | None:
        try:
            importlib.import_module("sage.all__sagemath_modules")
        except ImportError as error:
            return f"{error}; python -m pip install passagemath-iml"
        return super().missing()

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _ImlJob(problem)


PEERS: dict[str, Contestant] = {
    peer.name: peer for peer in (Flint("fmpq"), Flint("fmpq", single=True), Flint("fmpz"), Iml())
}
"""Peers of exact solving, by name, in the order of the tables."""
