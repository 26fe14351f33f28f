"""The kernels as a fixture, once for each instruction set of the build that runs here."""

import platform

import pytest

from tests.backends.cpu.matrix import building
from tests.backends.cpu.matrix.library import Kernels, Library

X86 = ("amx", "avx512_vnni", "avx_vnni", "avx2")
ARM = ("neon_i8mm", "neon_dotprod")
NAMES = {"x86_64": X86, "amd64": X86, "aarch64": ARM, "arm64": ARM}.get(platform.machine().lower(), ())


@pytest.fixture
def native() -> Library:
    if building.compiler() is None:
        pytest.skip("matrix kernels NOT EXERCISED: no C compiler, install gcc or clang or name one in CC")
    return Library(building.library())


@pytest.fixture(params=[*NAMES, "portable"])
def kernels(request: pytest.FixtureRequest, native: Library) -> Kernels:
    name: str = request.param
    found = native.select(name)
    if found is None:
        pytest.skip(f"matrix kernels {name} NOT EXERCISED: this CPU or system cannot run them")
    return found
