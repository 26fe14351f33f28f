"""Times jobs beside each other: a warm-up, then repeats in turn, A B C A B C, so that a drift hits all alike.

Knows nothing of what the jobs compute.
"""

import gc
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, sleep

Run = Callable[[], object]

SAMPLE_SECONDS = 0.01
"""A run shorter than this is called several times in a sample."""


@dataclass(frozen=True)
class Sampling:
    """How often each job is timed, and the rest in seconds before each sample.

    After a product a BLAS's threads spin for a while in wait of the next, on the cores that the next job needs: FLINT
    was half as slow again when timed at once after NumPy, and as fast as alone after a rest of 0.2 s. Jobs of more than
    `once_above` seconds are not repeated: their sample is the warm-up.
    """

    repeat: int
    pause: float = 0.2
    once_above: float = math.inf


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


def alternate(runs: Mapping[str, Run], warm: Mapping[str, float], sampling: Sampling) -> dict[str, Timing]:
    """Time the runs in turn; `warm` holds what `warm_up` measured."""
    calls = {name: max(1, math.ceil(SAMPLE_SECONDS / max(warm[name], 1e-9))) for name in runs}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    repeated = {name: run for name, run in runs.items() if warm[name] <= sampling.once_above}
    for name in runs.keys() - repeated.keys():
        seconds[name].append(warm[name])
    with _without_garbage_collection():
        for _ in range(sampling.repeat):
            for name, run in repeated.items():
                sleep(sampling.pause)
                seconds[name].append(sample(run, calls[name]))
    return {name: Timing(tuple(seconds[name]), calls[name]) for name in runs}
