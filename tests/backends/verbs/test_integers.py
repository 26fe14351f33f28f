"""`integers`: from planes back to the integers, in int64 exactly where all of them fit."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactla.core.moduli import ResidueBase
from tests.backends.checks import check_integers
from tests.backends.devices import base_for, engine_cases, with_device


def test_integers_up_to_a_quarter_of_the_product(rng, device):
    for _, limit in engine_cases(device.backend):
        for bits in (1, 10, 20, 21, 22, 44, 45, 46, 68, 69, 70, 300):
            base = base_for(limit, bits) if limit > 256 or bits < 300 else base_for(limit, 200)
            quarter = prod(base.moduli) // 4
            inner = [int(rng.integers(1 << 62)) % (quarter + 1) for _ in range(6)]
            check_integers(device, np.reshape([0, 1, -1, quarter, -quarter, quarter - 1, *inner], (2, 3, 2)), base)


@pytest.mark.parametrize("moduli", [(2,), (3,), (4,), (256,), (256, 255), (255, 256), (2, 3, 5, 7)])
def test_small_and_even_moduli(device, moduli):
    if min(moduli) < device.smallest_modulus:
        moduli = tuple(3 * m for m in moduli[:1])
    check_ends(device, ResidueBase(moduli))


def test_the_largest_moduli(device):
    for _, limit in engine_cases(device.backend):
        check_ends(device, ResidueBase((limit, limit - 1)))


def check_ends(device, base):
    quarter = prod(base.moduli) // 4
    check_integers(device, [[[0, quarter, -quarter, quarter // 2, -(quarter // 2)]]], base)


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**62, 2**64, 10**40])
def test_int64_exactly_where_all_fit(device, number):
    base = base_for(1 << 12, 140)
    check_integers(device, [[[number]]], base)
    check_integers(device, [[[1, number, -1]]], base)


def test_many_moduli(device):
    # past the groups in which sums are formed: the quotient by the product of the moduli must still be right
    base = base_for(2000, 1400)
    quarter = prod(base.moduli) // 4
    check_integers(device, [[[quarter, -quarter, quarter - 1, 1, 0, -1, 7**400]]], base)


@pytest.mark.parametrize("shape", [(0, 2, 2), (2, 0, 2), (2, 2, 0), (3, 70, 90)])
def test_any_shape(device, shape):
    numbers = np.arange(prod(shape)).reshape(shape) - 5
    check_integers(device, numbers, base_for(256, 30))
    check_integers(device, numbers, base_for(256, 90))


@given(st.lists(st.integers(-(2**900), 2**900), min_size=1, max_size=12))
@with_device
def test_round_trip(device, numbers):
    check_integers(device, np.array(numbers, object).reshape(1, -1, 1), base_for(1 << 12, 901))
