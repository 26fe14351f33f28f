"""Where an LU on a CUDA device spends its time: seconds of each step, for which the host waits before the next.

Knows the backend's verbs of multiple precision and its eliminations by name, and nothing of what they compute.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from time import perf_counter
from typing import Any

from exactla import registry

BACKEND = "cuda"
ELIMINATION = (
    *("open_columns", "column", "put_column", "rest_of_row", "put_row"),
    *("exchange", "open_rows", "row", "close"),
)
PANEL = ("columns", "rows")
"""In these the products of open_columns and open_rows are, too."""

VERBS = ("largest", "divide", "scale", "store", "gather", "most_bits", "product", "substitute")

Steps = list[dict[str, object]]
"""Steps with their seconds and calls, the longest first, and the whole call last."""


def wait(backend: str) -> None:
    """Wait until a device has done all that it was given; nothing on backends that are done when a call returns."""
    if backend == BACKEND:
        import cupy

        cupy.cuda.get_current_stream().synchronize()


def timed(call: Callable[[], Any]) -> tuple[Any, Steps]:
    """What a call returns, and its steps."""
    with _recorded() as seconds:
        start = perf_counter()
        found = call()
        wait(BACKEND)
        whole = perf_counter() - start
    steps = [_step(name, sum(spent), len(spent)) for name, spent in seconds.items()]
    steps.sort(key=lambda step: -step["seconds"])
    return found, [*steps, _step("whole call", whole, 1)]


def _step(name: str, seconds: float, calls: int) -> dict[str, Any]:
    return {"step": name, "seconds": seconds, "calls": calls}


@contextmanager
def _recorded() -> Iterator[dict[str, list[float]]]:
    """Seconds of each step inside the block, in calls that wait for the device."""
    from exactla_backends.cuda.multiprecision.elimination import CudaElimination
    from exactla_backends.cuda.multiprecision.panel import PanelElimination

    seconds: dict[str, list[float]] = defaultdict(list)
    verbs = type(registry.load(BACKEND).multiprecision)
    kinds: tuple[tuple[type, tuple[str, ...]], ...] = (
        (CudaElimination, ELIMINATION),
        (PanelElimination, PANEL),
        (verbs, VERBS),
    )
    before = [(kind, name, getattr(kind, name)) for kind, names in kinds for name in names]
    for kind, name, method in before:
        setattr(kind, name, _waiting(method, seconds[name]))
    try:
        yield seconds
    finally:
        for kind, name, method in before:
            setattr(kind, name, method)
        for name in [name for name, spent in seconds.items() if not spent]:
            del seconds[name]


def _waiting(method: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        start = perf_counter()
        found = method(*arguments, **options)
        wait(BACKEND)
        seconds.append(perf_counter() - start)
        return found

    return call
