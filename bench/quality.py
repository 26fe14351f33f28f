"""How good a contestant's bounds are, measured against the tightest pair of the same dtype; integers decide.

`missed` counts entries where the claim is false: the bounds do not enclose the exact value, or, for a point rounded
once, it is neither end of the tightest pair. As each bound is a float itself, `bound <= exact value` is the same as
`bound <= lo`, so the comparison is exact. For a point without a guarantee, `missed` counts the same and is no fault.
"""

from collections.abc import Mapping

import numpy as np

import exactla as xl
from bench import subjects
from bench.contestant import Contestant, Guarantee, Job, Problem

_POINTS = (Guarantee.ROUNDED, Guarantee.NONE)


def quality(contestant: Contestant, job: Job, problem: Problem, backend: str) -> Mapping[str, object] | None:
    """Missed entries, and median and maximum number of representable steps from the lower end to the upper one."""
    bounds = job.bounds(job.run())
    if bounds is None:
        return None
    lower, upper = bounds
    lo, hi = subjects.tightest(problem, lower.dtype.name, backend)
    if contestant.guarantee in _POINTS:
        missed = (lower != lo) & (lower != hi)
        lower, upper = np.minimum(lower, lo), np.maximum(upper, hi)
    else:
        missed = ~((lower <= lo) & (upper >= hi))
    steps = xl.width_ulps(lower, upper)
    return {
        "dtype": lower.dtype.name,
        "entries": int(missed.size),
        "missed": int(missed.sum()),
        "steps_median": float(np.median(steps)),
        "steps_maximum": int(steps.max()),
    }
