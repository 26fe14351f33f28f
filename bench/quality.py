"""How good a contestant's bounds are, against the tightest pair of the same dtype, which Python's integers give.

`missed` counts entries where the claim is false: bounds do not enclose the exact value; bounds said to be the tightest
are not; a point rounded once is neither end of the tightest pair. As a bound is a float itself, it is at most the
exact value if and only if it is at most lo, so that the comparison is exact. For a point without a guarantee it
counts the same and is no fault.
"""

from collections.abc import Mapping

import numpy as np

import exactla as xl
from bench import exact
from bench.contestant import Contestant, Guarantee, Job, Problem

_POINTS = (Guarantee.ROUNDED, Guarantee.NONE)


def quality(contestant: Contestant, job: Job, problem: Problem) -> Mapping[str, object] | None:
    """Missed entries, and median and maximum number of representable steps from the lower end to the upper one."""
    bounds = job.bounds(job.run())
    if bounds is None:
        return None
    lower, upper = bounds
    lo, hi = exact.tightest(problem, lower.dtype)
    if contestant.guarantee in _POINTS:
        missed = (lower != lo) & (lower != hi)
        lower, upper = np.minimum(lower, lo), np.maximum(upper, hi)
    elif contestant.guarantee is Guarantee.TIGHTEST:
        missed = (lower != lo) | (upper != hi)
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
