"""What takes part in a benchmark: a `Contestant` prepares a `Problem` into a `Job` that can be run again and again.

exactla's own calls and its peers are contestants alike, so that each is prepared, warmed up and timed in one way.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
Bounds = tuple[FloatArray, FloatArray]


class Guarantee(StrEnum):
    """What is known of a result."""

    TIGHTEST = "tightest"
    """No narrower pair of floating-point numbers encloses the exact value."""
    ROUNDED = "rounded"
    """The exact value, rounded once."""
    EXACT = "exact"
    """The exact value itself."""
    ENCLOSURE = "enclosure"
    """Bounds, of no certain width."""
    NONE = "none"
    """A floating-point result without a bound."""


@dataclass(frozen=True)
class Problem:
    """A product to compute: a [M, K] times b [K, N] of one dtype."""

    a: FloatArray
    b: FloatArray
    data: str

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, K and N."""
        return self.a.shape[0], self.a.shape[1], self.b.shape[1]

    @property
    def multiplications(self) -> int:
        """Multiply-and-add steps of the schoolbook product."""
        m, k, n = self.shape
        return m * k * n

    @property
    def dtype(self) -> str:
        """Name of the operands' dtype."""
        return self.a.dtype.name


class Job(ABC):
    """A prepared problem. Conversion of the operands is done; `run` is what is timed, and returns when it is done."""

    @abstractmethod
    def run(self) -> Any:
        """Compute the product and return it in the contestant's own type."""

    def bounds(self, result: Any) -> Bounds | None:
        """The claimed bounds of a result, rounded outward to floats; equal ends for a point; None if not comparable."""
        return None

    def details(self) -> Mapping[str, object]:
        """Facts about how the problem was solved, for the record."""
        return {}

    def close(self) -> None:
        """Release what the job holds outside this process."""
        return


class Together(Job):
    """Several jobs run one after the other as one, for libraries that know no batches."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs

    def run(self) -> list[Any]:
        return [job.run() for job in self._jobs]

    def close(self) -> None:
        for job in self._jobs:
            job.close()


class Contestant(ABC):
    """A way to compute a product."""

    name: str
    summary: str
    guarantee: Guarantee
    in_process: bool = True
    """Whether its memory is this process's."""

    def missing(self) -> str | None:
        """Why this contestant cannot run here, with the line that installs it; None where it can."""
        return None

    def version(self) -> str:
        """Version of the library behind it."""
        return ""

    def refuses(self, problem: Problem) -> str | None:
        """Why this problem is outside what the contestant takes or is worth timing on; None where it is inside."""
        return None

    @abstractmethod
    def prepare(self, problem: Problem, threads: int) -> Job:
        """Convert the operands."""

    def prepare_batch(self, problems: Sequence[Problem], threads: int) -> Job:
        """Convert the operands of problems of one shape; unless a library knows batches they run one by one."""
        return Together([self.prepare(problem, threads) for problem in problems])
