"""The order in which jobs are timed, and what is kept of the samples; no time is asserted."""

import gc

from bench import timing
from bench.timing import Sampling, Timing


def test_jobs_alternate() -> None:
    order: list[str] = []
    runs = {name: (lambda name=name: order.append(name)) for name in "abc"}
    timings = timing.alternate(runs, dict.fromkeys(runs, 1.0), Sampling(repeat=3, pause=0.0))
    assert order == list("abc" * 3)
    assert [len(t.seconds) for t in timings.values()] == [3, 3, 3]


def test_a_short_job_is_called_several_times_a_sample() -> None:
    calls: list[bool] = []
    timings = timing.alternate(
        {"a": lambda: calls.append(gc.isenabled())}, {"a": timing.SAMPLE_SECONDS / 4}, Sampling(repeat=2, pause=0.0)
    )
    assert timings["a"].calls == 4
    assert calls == [False] * 8
    assert gc.isenabled()


def test_statistics() -> None:
    found = Timing((3.0, 1.0, 2.0, 10.0), calls=1)
    assert (found.median, found.minimum) == (2.5, 1.0)
