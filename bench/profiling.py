"""`python -m bench profile`: where the time of a product goes, by verb of the Backend protocol.

The methods of the backend that the protocol names are wrapped for the run. A verb's own time excludes the verbs that
it calls; what is left over is planning, checks and whatever else happens outside the backend.
"""

import cProfile
import pstats
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.contestant import Job
from bench.record import Row
from exactla import registry
from exactla.backend import Backend


@dataclass
class Ledger:
    """Calls and own seconds of each verb."""

    calls: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    _inner: list[float] = field(default_factory=lambda: [0.0])

    def timed(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, entered in the ledger at each call."""

        @wraps(method)
        def call(*arguments: Any, **keywords: Any) -> Any:
            self._inner.append(0.0)
            start = perf_counter()
            try:
                return method(*arguments, **keywords)
            finally:
                elapsed = perf_counter() - start
                own = elapsed - self._inner.pop()
                self._inner[-1] += elapsed
                self.calls[name] = self.calls.get(name, 0) + 1
                self.seconds[name] = self.seconds.get(name, 0.0) + own

        return call


def verbs() -> list[str]:
    """Names of the methods of the Backend protocol."""
    return [name for name, value in vars(Backend).items() if callable(value) and not name.startswith("_")]


@contextmanager
def instrumented(backend: Backend) -> Iterator[Ledger]:
    """Time every verb of a backend inside the block."""
    ledger = Ledger()
    names = verbs()
    for name in names:
        setattr(backend, name, ledger.timed(name, getattr(backend, name)))
    try:
        yield ledger
    finally:
        for name in names:
            delattr(backend, name)


def by_verb(job: Job, backend_name: str, repeat: int) -> list[Row]:
    """Seconds a call of each verb, largest first, then what happens outside the backend, and the sum."""
    job.run()
    with instrumented(registry.load(backend_name)) as ledger:
        start = perf_counter()
        for _ in range(repeat):
            job.run()
        total = (perf_counter() - start) / repeat
    rows = [_row(name, ledger.seconds[name] / repeat, total, ledger.calls[name] / repeat) for name in ledger.seconds]
    rows.sort(key=lambda row: -row["seconds"])
    outside = total - sum(row["seconds"] for row in rows)
    return [*rows, _row("outside the backend", outside, total, None), _row("whole call", total, total, None)]


def _row(verb: str, seconds: float, total: float, calls: float | None) -> Row:
    return {"verb": verb, "seconds": seconds, "share": seconds / total, "calls": calls}


def by_function(job: Job, count: int) -> list[Row]:
    """The functions of exactla with most time of their own, NumPy's included that they call; profiling slows them.

    The profiler sees the caller's thread alone: limit exactla to one thread.
    """
    profile = cProfile.Profile()
    profile.runcall(job.run)
    stats: dict[tuple[str, int, str], tuple[Any, int, float, float, Any]] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    rows: list[Row] = []
    for (file, _, function), (_, calls, own, cumulative, _) in stats.items():
        module = _module(Path(file))
        if module is not None:
            rows.append({"function": f"{module}.{function}", "calls": calls, "seconds": own, "cumulative": cumulative})
    return sorted(rows, key=lambda row: -row["seconds"])[:count]


def _module(file: Path) -> str | None:
    """Dotted name of a file of exactla; None for other files."""
    parts = file.with_suffix("").parts
    found = [i for i, part in enumerate(parts) if part in ("exactla", "exactla_backends")]
    return ".".join(parts[found[-1] :]) if found and found[-1] < len(parts) - 1 else None
