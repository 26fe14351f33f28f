"""`python -m bench products`: square products over sizes, dtypes and data, exactla beside its peers in one run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench import data, record
from bench.contestant import Contestant, Problem
from bench.measuring import measure
from bench.quality import quality
from bench.record import Row
from bench.timing import Sampling


@dataclass(frozen=True)
class Options:
    """What a run covers. `limit` is the longest call, in seconds, that is worth waiting for."""

    backend: str
    sizes: Sequence[int]
    dtypes: Sequence[str]
    data: Sequence[str]
    threads: int
    sampling: Sampling
    limit: float
    quality_up_to: int


class _Refusals:
    """Leaves out who refuses, and who would be too slow by the cube of the last size timed."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._last: dict[str, tuple[int, float]] = {}

    def reason(self, contestant: Contestant, problem: Problem) -> str | None:
        return contestant.refuses(problem) or self._too_slow(contestant, problem)

    def learn(self, problem: Problem, rows: Sequence[Row]) -> None:
        for row in rows:
            if "seconds_median" in row:
                self._last[row["contestant"]] = problem.multiplications, row["seconds_median"]

    def _too_slow(self, contestant: Contestant, problem: Problem) -> str | None:
        if contestant.name not in self._last:
            return None
        multiplications, seconds = self._last[contestant.name]
        expected = seconds * problem.multiplications / multiplications
        return f"about {expected:,.0f} s a call, the limit is {self._limit:,.0f} s" if expected > self._limit else None


def run(contestants: Sequence[Contestant], options: Options) -> Iterator[list[Row]]:
    """The rows of each problem as soon as it is done; ratios are to the first contestant."""
    for dtype in options.dtypes:
        for kind in options.data:
            refusals = _Refusals(options.limit)
            for n in sorted(options.sizes):
                problem = data.product(kind, dtype, n, n, n)
                rows = _rows(problem, contestants, options, refusals.reason)
                refusals.learn(problem, rows)
                yield rows


def _rows(
    problem: Problem,
    contestants: Sequence[Contestant],
    options: Options,
    reason: Callable[[Contestant, Problem], str | None],
) -> list[Row]:
    inspected = max(problem.shape) <= options.quality_up_to
    outcomes = measure(
        contestants,
        lambda c: c.prepare(problem, options.threads),
        refuse=lambda c: reason(c, problem),
        inspect=lambda c, job: quality(c, job, problem) if inspected else None,
        sampling=options.sampling,
    )
    m, k, n = problem.shape
    facts = {"m": m, "k": k, "n": n, "dtype": problem.dtype, "data": problem.data}
    rows = [record.row(outcome, facts, problem.multiplications) for outcome in outcomes]
    record.compare(rows, contestants[0].name)
    return rows
