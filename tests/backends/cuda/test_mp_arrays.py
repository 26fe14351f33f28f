"""Numbers of multiple precision that live on a device which runs kernels on this host."""

import numpy as np
import pytest

import exactla as xl
from tests.libraries import fake_cupy
from tests.multiprecision import device_checks


@pytest.fixture(autouse=True)
def memory():
    """More than the pretended device says that it has."""
    with xl.workspace_limit(1 << 34):
        yield


def there(array):
    with fake_cupy.Device(1):
        return fake_cupy.asarray(array)


def host(array):
    return np.array(array.memory)


def test_arrays(ampere, rng):
    device_checks.arrays(rng, there, host)


def test_comparisons(ampere, rng):
    device_checks.comparisons(rng, there, host)


@pytest.mark.parametrize("size", [3, 37])
def test_factors_and_solutions(ampere, rng, size):
    device_checks.factors_and_solutions(rng, there, size)


def test_numbers_of_the_host_come_back(ampere, rng):
    device_checks.numbers_of_the_host_come_back(rng)
