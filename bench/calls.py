"""`python -m bench calls`: what a call costs when there is next to nothing to compute."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench import data, record
from bench.contestant import Contestant, Job, Problem
from bench.measuring import measure
from bench.record import Row
from bench.timing import Sampling


@dataclass(frozen=True)
class Case:
    """A small product, or a batch of them that is computed together."""

    m: int
    k: int
    n: int
    batch: int = 1

    def problems(self, dtype: str) -> list[Problem]:
        return [data.product("normal", dtype, self.m, self.k, self.n, member=i) for i in range(self.batch)]


CASES = (Case(4, 4, 4), Case(16, 16, 16), Case(20, 256, 12), Case(20, 256, 12, batch=5))
"""The shapes that are timed; the batch of five has published figures of another system."""


def run(
    contestants: Sequence[Contestant], dtypes: Sequence[str], threads: int, sampling: Sampling
) -> Iterator[list[Row]]:
    """The rows of each case and dtype; ratios are to the first contestant that takes the case."""
    for dtype in dtypes:
        for case in CASES:
            yield _rows(case, dtype, contestants, threads, sampling)


def _rows(case: Case, dtype: str, contestants: Sequence[Contestant], threads: int, sampling: Sampling) -> list[Row]:
    problems = case.problems(dtype)

    def prepare(contestant: Contestant) -> Job:
        if case.batch == 1:
            return contestant.prepare(problems[0], threads)
        return contestant.prepare_batch(problems, threads)

    entered = [c for c in contestants if case.batch > 1 or c.refuses(problems[0]) is None]
    outcomes = measure(entered, prepare, refuse=lambda _: None, inspect=lambda *_: None, sampling=sampling)
    facts = {"batch": case.batch, "m": case.m, "k": case.k, "n": case.n, "dtype": dtype, "data": "normal"}
    rows = [record.row(outcome, facts, sum(p.multiplications for p in problems)) for outcome in outcomes]
    record.compare(rows, entered[0].name)
    return rows
