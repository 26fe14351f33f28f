"""`python -m bench solve`: exact solutions of systems of many kinds, exactla beside its peers in one run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench import record, systems
from bench.contestant import Contestant, Problem
from bench.measuring import measure
from bench.record import Row
from bench.timing import Sampling


@dataclass(frozen=True)
class Options:
    """What a run covers; columns of None stand for as many right-hand sides as unknowns."""

    sizes: Sequence[int]
    data: Sequence[str]
    columns: Sequence[int | None]
    threads: int
    sampling: Sampling
    limit: float


def run(contestants: Sequence[Contestant], options: Options) -> Iterator[list[Row]]:
    """The rows of each system as soon as it is done; ratios are to the first contestant."""
    for kind in options.data:
        for columns in options.columns:
            last: dict[str, tuple[int, float]] = {}
            for n in sorted(options.sizes):
                problem = systems.system(kind, n, n if columns is None else columns)
                rows = _rows(problem, contestants, options, last)
                for row in rows:
                    if "seconds_median" in row:
                        last[row["contestant"]] = n, row["seconds_median"]
                yield rows


def _rows(
    problem: Problem, contestants: Sequence[Contestant], options: Options, last: dict[str, tuple[int, float]]
) -> list[Row]:
    n, _, columns = problem.shape

    def too_slow(contestant: Contestant) -> str | None:
        if contestant.name not in last:
            return None
        side, seconds = last[contestant.name]
        expected = seconds * (n / side) ** 3
        return (
            f"about {expected:,.0f} s a call, the limit is {options.limit:,.0f} s" if expected > options.limit else None
        )

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
