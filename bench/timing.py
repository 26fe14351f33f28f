"""Times jobs beside each other: a warm-up, then repeats in turn, A B C A B C, so that a drift of the clock hits all.

Knows nothing of what the jobs compute.
"""

import gc
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

Run = Callable[[], object]

SAMPLE_SECONDS = 0.01
"""A run shorter than this is called several times in a sample."""


@dataclass(frozen=True)
class Timing:
    """Seconds a call, one for each sample; a sample is the mean of `calls` calls."""

    seconds: tuple[float, ...]
    calls: int

    @property
    def median(self) -> float:
        """Median over the samples."""
        return statistics.median(self.seconds)

    @property
    def minimum(self) -> float:
        """The fastest sample."""
        return min(self.seconds)


def sample(run: Run, calls: int = 1) -> float:
    """Mean seconds of a call. The last result outlives the clock, so that freeing it is not counted."""
    start = perf_counter()
    for _ in range(calls - 1):
        run()
    result = run()
    seconds = perf_counter() - start
    del result
    return seconds / calls


def warm_up(run: Run) -> float:
    """Seconds of a call once caches and lazy imports are in place; a long first call is taken as it is."""
    first = sample(run)
    return first if first > 1.0 else min(sample(run) for _ in range(3))


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def alternate(runs: Mapping[str, Run], warm: Mapping[str, float], repeat: int) -> dict[str, Timing]:
    """Time each run `repeat` times in turn; `warm` holds what `warm_up` measured."""
    calls = {name: max(1, math.ceil(SAMPLE_SECONDS / max(warm[name], 1e-9))) for name in runs}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    with _without_garbage_collection():
        for _ in range(repeat):
            for name, run in runs.items():
                seconds[name].append(sample(run, calls[name]))
    return {name: Timing(tuple(seconds[name]), calls[name]) for name in runs}
