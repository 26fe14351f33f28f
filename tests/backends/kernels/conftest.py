"""The compiled kernels as a fixture, once for each instruction set that can be built and run here."""

import pytest

from tests.backends.kernels import building
from tests.backends.kernels.library import Kernels


@pytest.fixture(scope="session", params=building.variants(), ids=lambda variant: variant.name)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    variant: building.Variant = request.param
    reason = building.why_not(variant)
    if reason is not None:
        pytest.skip(f"kernels as {variant.name} NOT EXERCISED: {reason}")
    return Kernels(building.build(variant), variant.name)
