"""The CUDA backend's modules over a CuPy that is pretended, and devices that run its kernels on this host."""

import importlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.backends.cuda.emulation import compiler
from tests.backends.cuda.emulation.installing import installed
from tests.backends.cuda.emulation.modules import Gpu

_MODULES = ("backend", "device", "driver", "elements", "matrix.blas", "matrix.hopper", "matrix.matrix")


def _backend_modules(gpu: Gpu) -> Any:
    found = {name.rpartition(".")[2]: importlib.import_module(f"exactla_backends.cuda.{name}") for name in _MODULES}
    return SimpleNamespace(gpu=gpu, **found)


@pytest.fixture(scope="module")
def cuda() -> Iterator[Any]:
    """The modules, on a device of compute capability 8.0."""
    with installed((8, 0)) as gpu:
        yield _backend_modules(gpu)


@pytest.fixture(scope="module", params=[(8, 0), (9, 0)], ids=["ampere", "hopper"])
def emulated(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The modules, on devices that run kernels."""
    reason = compiler.why_not()
    if reason is not None:
        pytest.skip(f"CUDA kernels on the host NOT EXERCISED: {reason}")
    with installed(request.param) as gpu:
        yield _backend_modules(gpu)
