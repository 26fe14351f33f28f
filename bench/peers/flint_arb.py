"""FLINT's ball matrices: `arb_mat * arb_mat` at a fixed precision, by python-flint."""

from typing import Any

from bench.contestant import Bounds, Guarantee, Job, Problem
from bench.exact import Dyadic, outward
from bench.peers.importing import LibraryPeer, load


class _ArbJob(Job):
    def __init__(self, problem: Problem, bits: int) -> None:
        self._flint = load("flint")
        self._bits = bits
        m, k, n = problem.shape
        self._shape = (m, n)
        self._a = self._flint.arb_mat(m, k, problem.a.ravel().tolist())
        self._b = self._flint.arb_mat(k, n, problem.b.ravel().tolist())

    def run(self) -> Any:
        with self._flint.ctx.workprec(self._bits):
            return self._a * self._b

    def bounds(self, result: Any) -> Bounds:
        with self._flint.ctx.workprec(self._bits + 64):  # lower() and upper() round to it, outward
            return outward(((_dyadic(x.lower()), _dyadic(x.upper())) for x in result.entries()), self._shape)


def _dyadic(x: Any) -> Dyadic:
    man, exp = x.man_exp()
    return int(man), int(exp)


class ArbProduct(LibraryPeer):
    """Ball arithmetic of so many bits."""

    guarantee = Guarantee.ENCLOSURE
    module = "flint"
    distribution = "python-flint"

    def __init__(self, bits: int) -> None:
        self.name = f"arb-{bits}"
        self.summary = f"FLINT arb_mat product at {bits} bits"
        self._bits = bits

    def version(self) -> str:
        return f"{load('flint').__FLINT_VERSION__} (python-flint {super().version()})"

    def prepare(self, problem: Problem, threads: int) -> Job:
        load("flint").ctx.threads = threads
        return _ArbJob(problem, self._bits)
