"""The kernels as a fixture, once for each instruction set of the build that runs here."""

import pytest

from tests.backends.cpu.matrix import building
from tests.backends.cpu.matrix.library import Kernels, Library

NAMES = ("amx", "avx512_vnni", "avx_vnni", "avx2", "neon_i8mm", "neon_dotprod", "portable")


@pytest.fixture
def library() -> Library:
    if building.compiler() is None:
        pytest.skip("matrix kernels NOT EXERCISED: no C compiler, install gcc or clang or name one in CC")
    return Library(building.library())


@pytest.fixture(params=NAMES)
def kernels(request: pytest.FixtureRequest, library: Library) -> Kernels:
    name: str = request.param
    if name not in library.names():
        pytest.skip(f"matrix kernels {name} NOT EXERCISED: not for this architecture")
    found = library.select(name)
    if found is None:
        pytest.skip(f"matrix kernels {name} NOT EXERCISED: this CPU or system cannot run them")
    return found
