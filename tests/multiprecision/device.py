"""A device that is pretended: arrays of the pretended CuPy, and the verbs of the NumPy backend behind them.

It is strict: verbs take buffers of the device alone, on the current one, and what they give for the host is no buffer.
"""

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from exactla.core.stepwise import Stepwise
from exactla.registry import BackendDescription
from exactla_backends.numpy.elimination import HostElimination
from exactla_backends.numpy.multiprecision import HostMultiprecision
from tests.libraries import fake_cupy

FOR_THE_HOST = {"bit_lengths", "engine_is_exact", "elimination_bytes", "free_bytes", "largest", "product_bytes"}
NUMBERS = {np.dtype(np.int64)}
"""Types of arrays of the host that verbs take: places and shifts."""


class Verbs:
    """Calls of an object of the host, with buffers of the device; `calls` counts them by name."""

    def __init__(self, inner: Any, calls: Counter[str]) -> None:
        self._inner, self.calls = inner, calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._inner, name)

        def call(*arguments: Any) -> Any:
            self.calls[name] += 1
            found = method(*map(_unwrapped, arguments))
            return found if name in FOR_THE_HOST else _wrapped(found)

        return call


class PretendedMultiprecision(Verbs):
    """See `exactla.backend.Multiprecision`."""

    name = "pretended"
    engines = HostMultiprecision.engines
    component_products = None
    elimination_limit = 0

    def __init__(self) -> None:
        super().__init__(HostMultiprecision(), Counter())

    def few_unknowns(self, limbs: int) -> int:
        return 4

    def scope(self, limbs: Any) -> Any:
        return limbs.device

    def upload(self, limbs: Any) -> Any:
        self.calls["upload"] += 1
        assert type(limbs) is np.ndarray
        return fake_cupy.asarray(limbs)

    def download(self, limbs: Any) -> Any:
        self.calls["download"] += 1
        return np.array(_unwrapped(limbs))

    def elimination(self, matrix: Any, precision: int, *arguments: Any) -> Any:
        steps: Any = Verbs(HostElimination(_unwrapped(matrix), precision, *arguments), self.calls)
        return Stepwise(self, steps, precision)  # type: ignore[arg-type]  # its methods are those of the inner object


def _unwrapped(value: Any) -> Any:
    if isinstance(value, fake_cupy.ndarray):
        return fake_cupy._here(value).memory
    if isinstance(value, np.ndarray) and value.dtype not in NUMBERS:
        raise TypeError("an array of the host is no buffer of the device")
    return value


def _wrapped(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return fake_cupy.ndarray.around(value, fake_cupy.Device.current[-1])
    return value


def described() -> tuple[BackendDescription, PretendedMultiprecision]:
    """A backend that takes arrays on "cuda" devices and has nothing but verbs for long integers, and these."""
    verbs = PretendedMultiprecision()
    backend: Any = SimpleNamespace(name="pretended", engines=verbs.engines, multiprecision=verbs)
    description = BackendDescription("pretended", ("cuda",), 1, lambda: None, lambda: backend, ("cpu",))
    return description, verbs
