"""What products and systems of multiple precision share: exactla's side, and FLINT's arb."""

from abc import abstractmethod
from typing import Any

import exactla as xl
from bench.contestant import Contestant, Guarantee, Job, Problem
from bench.multiprecision import MPJob, MPProblem
from bench.peers.importing import LibraryPeer, load


def checked(problem: Problem) -> MPProblem:
    """A problem as one of multiple precision."""
    if not isinstance(problem, MPProblem):
        raise TypeError(f"a problem of multiple precision is needed, got {type(problem).__name__}")
    return problem


class Own(Contestant):
    """A call of exactla on one backend."""

    guarantee = Guarantee.ROUNDED
    call: str

    def __init__(self, backend: str) -> None:
        self.summary = f"{self.call}, {backend} backend"
        self._backend = backend

    def version(self) -> str:
        return str(xl.__version__)


class ArbJob(MPJob):
    """Operands as ``flint.arb_mat``, and a working precision."""

    def __init__(self, problem: MPProblem, threads: int) -> None:
        self._flint, self._threads, self._precision = load("flint"), threads, problem.precision
        self._a, self._b = problem.share("flint", lambda: (problem.a.to_flint(), problem.b.to_flint()))

    def compute(self) -> Any:
        self._flint.ctx.threads = self._threads
        with self._flint.ctx.workprec(self._precision):
            return self.answer()

    @abstractmethod
    def answer(self) -> Any:
        """The result, of FLINT's."""

    def mp(self, result: Any) -> Any:
        return xl.MPArray.from_flint(result)


class ArbPeer(LibraryPeer):
    """FLINT's arb on a number of threads of its own, or on that of the run."""

    module = "flint"
    distribution = "python-flint"
    call: str
    job: type[ArbJob]

    def __init__(self, threads: int | None) -> None:
        self.name = "arb" if threads is None else f"arb-{threads}-thread"
        self.summary = self.call + (f", {threads} thread" if threads else "")
        self._threads = threads

    def version(self) -> str:
        return f"{load('flint').__FLINT_VERSION__} (python-flint {super().version()})"

    def prepare(self, problem: Problem, threads: int) -> Job:
        return self.job(checked(problem), self._threads or threads)
