"""Lifting from the first step to the solution."""

import math

import numpy as np
import pytest

import exactla as xl
from exactla import registry
from exactla.backend import Lifting
from exactla.core import dixon
from exactla.core.conditions import Conditions
from exactla.core.dixon import InverseMatrix, NotFound, find_lifting
from exactla.core.elimination import echelon
from exactla.core.expansion import HostExpansion
from exactla.core.integers import IntegerMatrix
from exactla.core.numerators import ListedNumbers


@pytest.fixture
def system(rng):
    a, b = rng.integers(-(1 << 20), 1 << 20, (24, 24)), rng.integers(-(1 << 20), 1 << 20, (24, 2))
    form = echelon(np.concatenate([a, b], axis=1).tolist(), 24)
    return a, b, [[int(x) for x in row[24:]] for row in form.rows], int(form.denominator)


def solved(lifting, a, b):
    return InverseMatrix(IntegerMatrix(a), lifting).solve(b)


def test_the_solution(backend, system):
    a, b, expected, denominator = system
    numerators, found = solved(find_lifting(registry.load(backend), IntegerMatrix(a), Conditions()), a, b)
    assert (numerators * denominator == np.array(expected, object) * found).all()


class Spoilt:
    """A lifting one of whose digits is wrong by a unit."""

    def __init__(self, inner: Lifting, step: int) -> None:
        self.inner, self.base, self.determinants = inner, inner.base, inner.determinants
        self.left = step

    def lift(self, residual, steps):
        digits, residual = self.inner.lift(residual, steps)
        if 0 <= self.left < steps:
            digits = digits.copy()
            digits[self.left, 0, 5, 0] ^= 1
        self.left -= steps
        return digits, residual

    def expand(self, right_side, weights):
        return HostExpansion(self, right_side, weights)


@pytest.mark.parametrize("step", [0, 3])
def test_a_wrong_digit_is_found_out(system, step):
    """A negative control of these tests: the certificate takes the digits for right, the equations do not."""
    a, b, *_ = system
    numerators, denominator = solved(
        Spoilt(find_lifting(registry.load("numpy"), IntegerMatrix(a), Conditions()), step), a, b
    )
    wrong = a.astype(object) @ numerators != b.astype(object) * np.array(denominator, object)
    assert wrong[:, 0].any()
    assert not wrong[:, 1].any()


def test_small_solutions_stop_early(system):
    a, _, *_ = system
    seen = []
    inverse = InverseMatrix(
        IntegerMatrix(a),
        find_lifting(registry.load("numpy"), IntegerMatrix(a), Conditions()),
        Conditions(lambda done, total: seen.append(done)),
    )
    numerators, denominator = inverse.solve(a @ np.full((24, 1), 3))
    assert (numerators.ravel().tolist(), denominator) == ([3] * 24, 1)
    assert seen[-1] < 500


def test_later_right_sides_take_about_half(rng):
    a = rng.integers(-(1 << 23), 1 << 23, (130, 130))
    seen = []
    inverse = InverseMatrix(
        IntegerMatrix(a),
        find_lifting(registry.load("numpy"), IntegerMatrix(a), Conditions()),
        Conditions(lambda done, total: seen.append(done)),
    )
    inverse.solve(a[:, :1] * 0 + 1)
    first = seen[-1]
    inverse.solve(rng.integers(-99, 99, (130, 1)))
    assert seen[-1] < 0.65 * first


def test_right_sides_are_solved_in_groups(rng, monkeypatch):
    monkeypatch.setattr("exactla.core.dixon.DIGIT_BYTES", 1 << 16)
    a, b = rng.integers(-99, 99, (45, 45)), rng.integers(-99, 99, (45, 9))
    with xl.backend("numpy"):
        x = xl.solve(a, b)
    assert (a.astype(object) @ x.numerators == b.astype(object) * np.array(x.denominator, object)).all()


def lifted(a, b):
    """The solution, as numerators and a denominator, and a lifting long enough for it."""
    inverse = InverseMatrix(IntegerMatrix(a), find_lifting(registry.load("numpy"), IntegerMatrix(a), Conditions()))
    numerators, denominator = InverseMatrix(inverse.matrix, inverse.lifting).solve(b)
    found = dixon._Solution(inverse, b)
    for _ in found._lift_to(found._most_steps):
        pass
    return numerators, denominator, found, inverse.lifting.base.product**found._steps


@pytest.mark.parametrize("missing", [1, 6, 97 * 97, 65537])
def test_witnesses_find_the_factor_that_a_denominator_misses(rng, missing):
    a, b = rng.integers(-99, 100, (20, 20)), rng.integers(-99, 100, (20, 1))
    a[3] *= missing
    b[3] = 1
    numerators, denominator, found, modulus = lifted(a, b)
    assert denominator % missing == 0
    bits = max(int(n).bit_length() for n in numerators.flat)
    first = numerators.ravel()[: dixon.WITNESSES].tolist()
    factor, witnesses = found._witnesses(denominator // missing, found._steps, modulus, bits)
    assert factor == missing // math.gcd(missing, *first)
    assert [w * missing for w in witnesses] == [n * factor for n in first]


def test_without_short_witnesses_there_are_none(rng):
    """A denominator that misses more than a short factor is left to the whole of the numerators."""
    a, b = rng.integers(-99, 100, (20, 20)), rng.integers(-99, 100, (20, 1))
    numerators, denominator, found, modulus = lifted(a, b)
    assert denominator.bit_length() > 2 * dixon.MISSING_BITS
    bits = max(int(n).bit_length() for n in numerators.flat)
    assert found._witnesses(1, found._steps, modulus, bits) == (1, [])


def test_wrong_witnesses_certify_nothing(rng):
    """A negative control: numbers are certain only where the modulus leaves room for all of them, in lowest terms."""
    a, b = rng.integers(-99, 100, (20, 20)), rng.integers(-99, 100, (20, 1))
    numerators, denominator, found, modulus = lifted(a, b)
    numbers = ListedNumbers(numerators.ravel().tolist())
    witnesses = numerators.ravel().tolist()[:3]
    assert found._is_simple(numbers, denominator, witnesses, modulus)
    assert not found._is_simple(numbers, denominator, [modulus // 2 + 1, *witnesses], modulus)
    assert not found._is_simple(numbers, denominator, witnesses, 2 * max(map(abs, witnesses)))
    assert not found._is_simple(ListedNumbers([7 * n for n in numbers.integers()]), 7 * denominator, [7], modulus)


def test_singular_matrices_have_no_lifting(backend):
    with pytest.raises(NotFound):
        find_lifting(registry.load(backend), IntegerMatrix(np.ones((50, 50), np.int64)), Conditions())


def test_groups_of_right_hand_sides_have_one_denominator(rng, monkeypatch):
    """The first finds it alone; a later one may have more of it, or less."""
    a = rng.integers(-99, 100, (16, 16))
    a[0] *= 6
    b = rng.integers(-99, 100, (16, 9))
    b[:, :2] = a @ rng.integers(-3, 4, (16, 2))
    inverse = InverseMatrix(IntegerMatrix(a), find_lifting(registry.load("numpy"), IntegerMatrix(a), Conditions()))
    expected = inverse.solve(b)
    monkeypatch.setattr(dixon, "DIGIT_BYTES", 2 * 16 * inverse.matrix.rough_bound // 4)
    again = InverseMatrix(inverse.matrix, inverse.lifting)
    assert list(again._groups(9)) == [slice(0, 1), slice(1, 5), slice(5, 9)]
    found = again.solve(b)
    assert found[1] == expected[1]
    assert (found[0] == expected[0]).all()
    assert list(again._groups(9)) == [slice(0, 4), slice(4, 8), slice(8, 9)]


def test_of_many_right_sides_the_first_is_solved_alone(rng, monkeypatch):
    a = rng.integers(-99, 100, (16, 16))
    inverse = InverseMatrix(IntegerMatrix(a), find_lifting(registry.load("numpy"), IntegerMatrix(a), Conditions()))
    monkeypatch.setattr(dixon, "FEW_COMPONENTS", 1)
    few = dixon.FEW_COLUMNS
    assert list(inverse._groups(few)) == [slice(0, few)]
    assert list(inverse._groups(few + 1)) == [slice(0, 1), slice(1, few + 1)]
    monkeypatch.setattr(dixon, "FEW_COMPONENTS", 16 * (few + 1))
    assert list(inverse._groups(few + 1)) == [slice(0, few + 1)]
    inverse.denominator = 5
    assert list(inverse._groups(500)) == [slice(0, 500)]


@pytest.mark.parametrize("missing", [1, 2, 97 * 97, (1 << 39) + 1])
def test_a_factor_that_earlier_right_sides_lack_is_found_with_half_the_digits(rng, missing):
    a = rng.integers(-99, 100, (70, 70)).astype(object)
    a[3] *= missing
    b = rng.integers(-99, 100, (70, 4)).astype(object)
    b[3, 0], b[3, 1:] = missing, 1
    seen = []
    inverse = InverseMatrix(
        IntegerMatrix(a),
        find_lifting(registry.load("numpy"), IntegerMatrix(a), Conditions()),
        Conditions(lambda done, total: seen.append(done)),
    )
    _, first = inverse.solve(b[:, :1])
    whole = seen[-1]
    numerators, denominator = inverse.solve(b[:, 1:])
    assert denominator % missing == 0
    assert missing == 1 or math.gcd(denominator // first, missing) > 1
    assert seen[-1] < 0.7 * whole
    assert (a @ numerators == b[:, 1:] * denominator).all()
