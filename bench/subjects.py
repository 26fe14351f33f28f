"""exactla's own calls as contestants. A new capability, or a backend with its own arrays, is entered here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import exactla as xl
from bench.contestant import Bounds, Contestant, FloatArray, Guarantee, Job, Problem


def _placed(array: FloatArray, backend: str) -> Any:
    """The operand on the backend's device, where that is not the host."""
    if backend != "sycl":
        return array
    import dpnp

    return dpnp.asarray(array)


def _on_host(array: Any, backend: str) -> FloatArray:
    if backend != "sycl":
        return np.asarray(array)
    import dpnp

    return np.asarray(dpnp.asnumpy(array))


class _Call(Job):
    def __init__(self, call: Callable[..., Any], a: FloatArray, b: FloatArray, backend: str) -> None:
        self._call = call
        self._operands = tuple(_placed(x, backend) for x in (a, b))
        self._backend = backend

    def run(self) -> Any:
        with xl.backend(self._backend):
            return self._call(*self._operands)

    def bounds(self, result: Any) -> Bounds:
        ends = (result.lo, result.hi) if isinstance(result, xl.Enclosure) else (result, result)
        low, high = (_on_host(end, self._backend) for end in ends)
        return low, high

    def details(self) -> Mapping[str, object]:
        with xl.backend(self._backend):
            _, info = self._call(*self._operands, return_info=True)
        names = ("backend", "engine", "moduli", "bits", "capacity", "passes", "host_syncs", "workspace_bytes")
        return {name: getattr(info, name) for name in names}


class Subject(Contestant):
    """A product call of exactla on one backend."""

    def __init__(self, call: Callable[..., Any], guarantee: Guarantee, backend: str) -> None:
        self.name = call.__name__
        self.summary = f"exactla.{call.__name__}, {backend} backend"
        self.guarantee = guarantee
        self._call = call
        self._backend = backend

    def version(self) -> str:
        return str(xl.__version__)

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _Call(self._call, problem.a, problem.b, self._backend)


class BatchSubject(Subject):
    """A product call of exactla on stacks of matrices."""

    def refuses(self, problem: Problem) -> str | None:
        return "takes batches only"

    def prepare_batch(self, problems: Sequence[Problem], threads: int) -> Job:
        a, b = np.stack([p.a for p in problems]), np.stack([p.b for p in problems])
        return _Call(self._call, a, b, self._backend)


_SUBJECTS: dict[str, Callable[[str], Subject]] = {
    "mm_enclose": lambda backend: Subject(xl.mm_enclose, Guarantee.TIGHTEST, backend),
    "mm": lambda backend: Subject(xl.mm, Guarantee.ROUNDED, backend),
    "bmm_enclose": lambda backend: BatchSubject(xl.bmm_enclose, Guarantee.TIGHTEST, backend),
}

PRODUCTS = ("mm_enclose", "mm")
"""Calls that compute the product of two matrices."""


def subject(name: str, backend: str) -> Subject:
    """The call of that name on a backend."""
    return _SUBJECTS[name](backend)


def unavailable(backend: str) -> str | None:
    """Why exactla has no such backend here; None where it has."""
    for status in xl.backends():
        if status.name == backend:
            return None if status.available else status.reason
    return (
        f"exactla has no backend named {backend!r}; installed are {', '.join(s.name for s in xl.backends()) or 'none'}"
    )
