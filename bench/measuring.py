"""Takes contestants through one problem: refuse, prepare, warm up, time in turn, and say why where one is left out."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from bench import timing
from bench.contestant import Contestant, Job
from bench.timing import Sampling, Timing

Prepare = Callable[[Contestant], Job]
Inspect = Callable[[Contestant, Job], Mapping[str, object] | None]

FAILED = "failed: "
"""Begins the reason of an outcome that ended in an error."""


@dataclass
class Outcome:
    """What became of one contestant on one problem: a timing, or the reason why there is none."""

    contestant: Contestant
    reason: str = ""
    timing: Timing | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    quality: Mapping[str, object] | None = None


def measure(
    contestants: Sequence[Contestant],
    prepare: Prepare,
    *,
    refuse: Callable[[Contestant], str | None],
    inspect: Inspect,
    sampling: Sampling,
) -> list[Outcome]:
    """Time the contestants that take part, alternating; a fault of a peer is recorded and does not end the run."""
    outcomes = {c.name: Outcome(c, refuse(c) or "") for c in contestants}
    jobs: dict[str, Job] = {}
    warm: dict[str, float] = {}
    with ExitStack() as stack:
        for name, outcome in outcomes.items():
            if outcome.reason:
                continue
            try:
                job = prepare(outcome.contestant)
                stack.callback(job.close)
                warm[name] = timing.warm_up(job.run)
                outcome.details = job.details()
                outcome.quality = inspect(outcome.contestant, job)
                jobs[name] = job
            except Exception as error:  # a peer may fail in any way
                outcome.reason = f"{FAILED}{type(error).__name__}: {error}"
        timings = timing.alternate({name: job.run for name, job in jobs.items()}, warm, sampling)
    for name, result in timings.items():
        outcomes[name].timing = result
    return list(outcomes.values())
