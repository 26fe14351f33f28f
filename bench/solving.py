"""`python -m bench solve`: exact solutions of systems of many kinds, exactla beside its peers in one run."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench import record, systems
from bench.contestant import Contestant, Problem
from bench.measuring import measure
from bench.record import Row
from bench.timing import Sampling

History = dict[str, list[tuple[int, float]]]
"""Sizes and seconds of each contestant on one kind of system."""


@dataclass(frozen=True)
class Options:
    """What a run covers; columns of None stand for as many right-hand sides as unknowns.

    Kinds after the first are solved for the first number of right-hand sides only.
    """

    sizes: Sequence[int]
    data: Sequence[str]
    columns: Sequence[int | None]
    threads: int
    sampling: Sampling
    limit: float


def run(contestants: Sequence[Contestant], options: Options) -> Iterator[list[Row]]:
    """The rows of each system as soon as it is done; ratios are to the first contestant."""
    for kind in options.data:
        for columns in options.columns[: None if kind == options.data[0] else 1]:
            history: History = {}
            for n in sorted(options.sizes):
                problem = systems.system(kind, n, n if columns is None else columns)
                rows = _rows(problem, contestants, options, history)
                for row in rows:
                    if "seconds_median" in row:
                        history.setdefault(row["contestant"], []).append((n, row["seconds_median"]))
                yield rows


def _expected(known: Sequence[tuple[int, float]], n: int) -> float:
    """Seconds of a call: with the cube of the size, or as fast as they grew last."""
    side, seconds = known[-1]
    exponent = 3.0
    if len(known) > 1:
        before, earlier = known[-2]
        exponent = max(exponent, math.log(seconds / earlier) / math.log(side / before))
    return float(seconds * (n / side) ** exponent)


def _rows(problem: Problem, contestants: Sequence[Contestant], options: Options, history: History) -> list[Row]:
    n, _, columns = problem.shape

    def too_slow(contestant: Contestant) -> str | None:
        known = history.get(contestant.name)
        expected = _expected(known, n) if known else 0.0
        if expected <= options.limit:
            return None
        return f"about {expected:,.0f} s a call, the limit is {options.limit:,.0f} s"

    outcomes = measure(
        contestants,
        lambda c: c.prepare(problem, options.threads),
        refuse=lambda c: c.refuses(problem) or too_slow(c),
        inspect=lambda *_: None,
        sampling=options.sampling,
    )
    facts = {"n": n, "columns": columns, "dtype": problem.dtype, "data": problem.data}
    rows = [record.row(outcome, facts, problem.multiplications) for outcome in outcomes]
    record.compare(rows, contestants[0].name)
    return rows
