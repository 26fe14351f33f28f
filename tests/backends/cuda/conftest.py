"""The CUDA backend's modules over a CuPy that is pretended, and devices that run its kernels on this host."""

import importlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from tests.backends.cuda.emulation import compiler
from tests.backends.cuda.emulation.installing import installed
from tests.backends.cuda.emulation.modules import Gpu

_MODULES = (
    "backend",
    "device",
    "direct",
    "driver",
    "elements",
    "matrix.blas",
    "matrix.fp8",
    "matrix.hopper",
    "matrix.matrix",
    "multiprecision.limbs",
    "multiprecision.verbs",
)
_SYSTEMS = ("inverse", "kernels", "lifting", "numbers", "steps", "tables")
AMPERE, HOPPER = (8, 0), (9, 0)


def _backend_modules(gpu: Gpu) -> Any:
    found = {name.rpartition(".")[2]: importlib.import_module(f"exactla_backends.cuda.{name}") for name in _MODULES}
    found |= {name: importlib.import_module(f"exactla_backends.cuda.systems.{name}") for name in _SYSTEMS}
    # of the same name as another
    wide_tables = importlib.import_module("exactla_backends.cuda.multiprecision.tables")
    return SimpleNamespace(gpu=gpu, wide_tables=wide_tables, **found)


def _emulated(capability: tuple[int, int]) -> Iterator[Any]:
    reason = compiler.why_not()
    if reason is not None:
        pytest.skip(f"CUDA kernels on the host NOT EXERCISED: {reason}")
    # a host takes long for the sums that an engine is checked with, which tests of matrix units look at themselves
    is_exact = mock.patch("exactla_backends.device.backend.extreme_products_are_exact", return_value=True)
    with installed(capability) as gpu, is_exact:
        yield _backend_modules(gpu)


@pytest.fixture(scope="module")
def cuda() -> Iterator[Any]:
    """The modules, on a device of compute capability 8.0."""
    with installed(AMPERE) as gpu:
        yield _backend_modules(gpu)


@pytest.fixture(scope="module", params=[AMPERE, HOPPER], ids=["ampere", "hopper"])
def emulated(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The modules, on devices that run kernels."""
    yield from _emulated(request.param)


@pytest.fixture(scope="module")
def ampere() -> Iterator[Any]:
    """The modules, on a device that runs kernels: for what does not depend on its generation."""
    yield from _emulated(AMPERE)
