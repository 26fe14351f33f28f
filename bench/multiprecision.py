"""`python -m bench lu` and `mp`: multiple-precision systems and products, exactla beside its peers in one run.

A system is A x = (A times 1, 2, ..., n), whose solution is known; errors are measured in exact arithmetic.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import exactla as xl
from bench import record
from bench.contestant import Contestant, Job, Problem
from bench.data import SEED
from bench.measuring import measure
from bench.record import Row
from bench.timing import Sampling

CONDITION = 1 << 64
"""Of the matrices of kind "conditioned"."""

SAMPLED = 16
"""Entries of a product whose errors are measured."""

MATRICES: dict[str, Callable[[int, int], Any]] = {
    "lotkin": xl.gallery.lotkin,
    "random": lambda n, precision: xl.gallery.random(n, precision, seed=SEED),
    "conditioned": lambda n, precision: xl.gallery.random(n, precision, condition=CONDITION, seed=SEED),
}
"""Kinds of matrices by name."""


@dataclass(frozen=True)
class MPProblem(Problem):
    """A system or a product of numbers of so many bits; with components, operands are [n, n, components] float64."""

    a: Any
    b: Any
    precision: int
    components: int | None = None
    converted: dict[str, Any] = field(default_factory=dict, compare=False)
    """What contestants of one library share of their operands."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, K and N."""
        return self.a.shape[0], self.a.shape[1], self.b.shape[1] if self.b.ndim > 1 else 1

    @property
    def dtype(self) -> str:
        """What the entries are."""
        names = {None: f"{self.precision} bits", 2: "DD", 3: "TD", 4: "QD"}
        return names[self.components]

    def share(self, name: str, convert: Callable[[], Any]) -> Any:
        """The operands in a form that is made once."""
        if name not in self.converted:
            self.converted[name] = convert()
        return self.converted[name]


class MPJob(Job):
    """A prepared system or product, whose last result is kept for inspection."""

    last: Any = None

    def run(self) -> Any:
        self.last = self.compute()
        return self.last

    @abstractmethod
    def compute(self) -> Any:
        """What is timed."""

    @abstractmethod
    def mp(self, result: Any) -> Any:
        """A result as an `MPArray`, or as float64 components where the operands are."""


@dataclass(frozen=True)
class Options:
    """What a run covers."""

    sizes: Sequence[int]
    precisions: Sequence[int]
    data: Sequence[str]
    threads: int
    sampling: Sampling
    limit: float


def system(kind: str, n: int, precision: int) -> MPProblem:
    """The system of a kind whose solution is 1, 2, ..., n; its right-hand side is exact."""
    a: Any = MATRICES[kind](n, precision)
    right = a.scaled(-a.exponent).to_fractions() @ np.arange(1, n + 1, dtype=object)
    b: Any = xl.MPArray.from_fractions(right).scaled(a.exponent)
    return MPProblem(a, b, kind, precision)


def product(kind: str, n: int, precision: int) -> MPProblem:
    """A product of two matrices: kind "components" of DD, TD or QD numbers, by the precision, else of the gallery."""
    if kind != "components":
        a: Any = MATRICES[kind](n, precision)
        b: Any = xl.gallery.random(n, precision, seed=SEED + 1)
        return MPProblem(a, b, kind, precision)
    count = precision // 53
    operands: list[Any] = [
        xl.gallery.random(n, 53 * count + 10, seed=SEED + i).rounded(53 * count).to_components(count) for i in (0, 1)
    ]
    return MPProblem(operands[0], operands[1], kind, 53 * count, count)


def solution_bits(solution: Any) -> int | None:
    """The b with a largest relative error of the solution 1, 2, ..., n below 2**-b; None where it is exact."""
    flat = solution.reshape(-1)
    exact = xl.MPArray.from_float(np.arange(1, flat.size + 1))
    return _bits((error, v) for error, v in zip(abs(flat - exact).to_fractions(), exact.to_fractions(), strict=True))


def product_bits(problem: MPProblem, found: Any) -> int | None:
    """The same for some entries of a product, relative to the product of the magnitudes."""
    a, b = (xl.MPArray.from_components(x) if problem.components else x for x in (problem.a, problem.b))
    result = xl.MPArray.from_components(found) if problem.components else found
    generator = np.random.default_rng(SEED)
    m, _, n = problem.shape
    pairs = []
    for i, j in zip(generator.integers(0, m, SAMPLED), generator.integers(0, n, SAMPLED), strict=True):
        left, right = a[int(i)].to_fractions(), b[:, int(j)].to_fractions()
        error = abs(result[int(i), int(j)].item() - left @ right)
        pairs.append((error, abs(left) @ abs(right)))
    return _bits(pairs)


def _bits(pairs: Any) -> int | None:
    worst = max((error / size for error, size in pairs if size), default=0)
    if not worst:
        return None
    bits: int = worst.denominator.bit_length() - worst.numerator.bit_length() - 1
    return bits


def run_systems(contestants: Sequence[Contestant], options: Options) -> Iterator[list[Row]]:
    """The rows of each system as soon as it is done; ratios are to the first contestant."""

    def inspect(_: Contestant, job: Job) -> dict[str, object]:
        return {"bits": solution_bits(_last(job))}

    return _run(contestants, options, system, lambda _: inspect)


def run_products(contestants: Sequence[Contestant], options: Options) -> Iterator[list[Row]]:
    """The rows of each product as soon as it is done; ratios are to the first contestant."""

    def inspector(problem: MPProblem) -> Callable[[Contestant, Job], dict[str, object]]:
        return lambda _, job: {"bits": product_bits(problem, _last(job))}

    return _run(contestants, options, product, inspector)


def _last(job: Job) -> Any:
    if not isinstance(job, MPJob):
        raise TypeError("jobs of multiple precision only")
    return job.mp(job.last)


def _run(contestants: Sequence[Contestant], options: Options, make: Any, inspector: Any) -> Iterator[list[Row]]:
    for kind in options.data:
        for precision in options.precisions:
            last: dict[str, tuple[int, float]] = {}
            for n in sorted(options.sizes):
                problem = make(kind, n, precision)
                rows = _rows(problem, contestants, options, last, inspector(problem))
                last |= {row["contestant"]: (n, row["seconds_median"]) for row in rows if "seconds_median" in row}
                yield rows


def _rows(
    problem: MPProblem,
    contestants: Sequence[Contestant],
    options: Options,
    last: dict[str, tuple[int, float]],
    inspect: Any,
) -> list[Row]:
    n = problem.shape[0]

    def too_slow(contestant: Contestant) -> str | None:
        side, seconds = last.get(contestant.name, (n, 0.0))
        expected = seconds * (n / side) ** 3
        return f"about {expected:,.0f} s a call, limit {options.limit:,.0f} s" if expected > options.limit else None

    outcomes = measure(
        contestants,
        lambda c: c.prepare(problem, options.threads),
        refuse=lambda c: c.refuses(problem) or too_slow(c),
        inspect=inspect,
        sampling=options.sampling,
    )
    facts = {"n": n, "precision": problem.precision, "dtype": problem.dtype, "data": problem.data}
    rows = [record.row(outcome, facts, problem.multiplications) for outcome in outcomes]
    record.compare(rows, contestants[0].name)
    return rows
