"""`MPArray` as an array: indexing, shape, comparison, sums, scaling, display, copies."""

import copy
import operator
import pickle
from decimal import Decimal
from fractions import Fraction

import flint
import gmpy2
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactla as xl
from exactla import MPArray
from tests.multiprecision.numbers import DYADICS, mp

PAIRS = st.lists(st.tuples(DYADICS, DYADICS), min_size=1, max_size=4)
NUMBERS = np.array([[1.5, -2.0, 3.25], [1e20, 5e-10, 0.0]])


def fractions(array):
    return np.vectorize(Fraction, otypes=[object])(array) if np.size(array) else np.empty(np.shape(array), object)


@pytest.mark.parametrize(
    "index",
    [
        0, -1, (1, 2), (slice(None), 0), slice(0, 1), (slice(None, None, -1), slice(1, None)), (..., 1), None, [1, 0],
        (np.array([0, 1]), np.array([2, 0])), NUMBERS > 1, slice(5, 9), (0, np.int64(1)), ...,
    ],
)  # fmt: skip
def test_indexing_is_that_of_numpy(index):
    found = MPArray.from_float(NUMBERS)[index]
    expected = NUMBERS[index]
    assert found.shape == expected.shape
    assert found.limbs.flags.c_contiguous
    assert (found.to_float() == expected).all()


@pytest.mark.parametrize("index", [2, (0, 0, 0), 1.5, "a"])
def test_indices_that_are_none(index):
    with pytest.raises(IndexError):
        MPArray.from_float(NUMBERS)[index]


def test_rows_and_entries():
    x = MPArray.from_float(NUMBERS)
    assert (len(x), x.shape, x.ndim, x.size) == (2, (2, 3), 2, 6)
    assert [row.to_float().tolist() for row in x] == NUMBERS.tolist()
    entry = x[0, 0]
    assert (entry.shape, entry.item(), float(entry)) == ((), Fraction(3, 2), 1.5)
    assert entry
    assert not x[1, 2]
    with pytest.raises(TypeError, match="no length"):
        len(entry)
    with pytest.raises(ValueError, match="neither true nor false"):
        bool(x)


def test_shapes():
    x = MPArray.from_float(NUMBERS)
    assert (x.T.to_float() == NUMBERS.T).all()
    assert (x.reshape(3, 2).to_float() == NUMBERS.reshape(3, 2)).all()
    assert (x.reshape((-1,)).to_float() == NUMBERS.reshape(-1)).all()
    cube = MPArray.from_float(np.arange(24.0).reshape(2, 3, 4))
    assert (cube.transpose(1, 2, 0).to_float() == np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0)).all()
    assert (cube.transpose((0, -1, 1)).to_float() == np.arange(24.0).reshape(2, 3, 4).transpose(0, 2, 1)).all()
    assert cube.T.limbs.flags.c_contiguous
    assert MPArray.from_float(np.zeros((0, 3))).reshape(3, 0).shape == (3, 0)
    assert x.reshape(np.int64(6)).shape == x.reshape(np.array([6])).shape == (6,)
    assert x.reshape(np.int64(3), -1).shape == (3, 2)
    assert x[0].transpose(np.int64(0)).shape == (3,)
    assert x[0, 0].transpose().shape == x[0, 0].transpose(()).shape == ()
    with pytest.raises(ValueError, match="reshape"):
        x.reshape(5)
    with pytest.raises(TypeError, match="a length is an integer, got a float"):
        x.reshape(6.0)
    for axes in ((0, 0), (0, 2), (-3, 0), (-5, 0), (0,)):
        with pytest.raises(ValueError, match="no order of 2 axes"):
            x.transpose(*axes)


def test_what_stays_where_it_is_is_not_copied():
    x = mp([1, 2])
    assert x.to_device("cpu") is x


@given(PAIRS)
def test_sums_and_differences(pairs):
    xs, ys = map(list, zip(*pairs, strict=True))
    x, y = mp(xs), mp(ys)
    assert (x + y).tolist() == [a + b for a, b in pairs]
    assert (x - y).tolist() == [a - b for a, b in pairs]
    assert (-x).tolist() == [-a for a in xs]
    assert abs(x).tolist() == [abs(a) for a in xs]
    assert (+x).tolist() == xs


@given(PAIRS)
def test_comparisons_go_by_value(pairs):
    xs, ys = map(list, zip(*pairs, strict=True))
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        assert compare(mp(xs), mp(ys)).tolist() == [compare(a, b) for a, b in pairs]
        assert compare(mp(xs), mp(xs)).tolist() == [compare(a, a) for a in xs]


@pytest.mark.parametrize("distance", [63, 64, 65, 127, 128, 129, 10**15])
def test_comparisons_at_any_distance_of_exponents(distance):
    near = mp([0, 1, -1, (1 << 63) - 1, -(1 << 63), 3])
    far = near.scaled(distance)
    signs = [0, 1, -1, 1, -1, 1]
    assert (far > near).tolist() == [sign > 0 for sign in signs]
    assert (near > far).tolist() == [sign < 0 for sign in signs]
    assert (far == near).tolist() == [sign == 0 for sign in signs]
    assert (far < Fraction(1, 3)).tolist() == [sign <= 0 for sign in signs]
    assert (near <= far).tolist() == [sign >= 0 for sign in signs]


@given(st.lists(DYADICS, min_size=1, max_size=4), st.fractions())
def test_comparisons_with_numbers_that_no_array_holds(values, number):
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        assert compare(mp(values), number).tolist() == [compare(x, number) for x in values]
        assert compare(mp(values), gmpy2.mpq(number)).tolist() == [compare(x, number) for x in values]


INF = float("inf")
ORDERS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@settings(deadline=None)
@given(st.lists(DYADICS, min_size=1, max_size=4), st.decimals(allow_nan=False), st.fractions())
def test_comparisons_with_decimals_rationals_and_infinities(values, decimal, number):
    x = mp(values)
    exact = decimal if decimal.is_infinite() else Fraction(decimal)
    for compare in ORDERS:
        assert compare(x, decimal).tolist() == [compare(v, exact) for v in values]
        assert compare(x, flint.fmpq(number.numerator, number.denominator)).tolist() == [
            compare(v, number) for v in values
        ]
        for other in (INF, -INF, np.float32(INF), gmpy2.mpfr("-inf"), Decimal("-inf")):
            assert compare(x, other).tolist() == [compare(0.0, float(other))] * len(values)
            assert compare(other, x).tolist() == [compare(float(other), 0.0)] * len(values)


@settings(deadline=None)
@given(st.lists(DYADICS, min_size=3, max_size=3), st.fractions())
def test_comparisons_with_arrays_that_hold_such_numbers(values, number):
    x = mp(values)
    objects = np.array([number, Decimal("0.1"), INF], object)
    for compare in ORDERS:
        expected = [compare(v, y) for v, y in zip(values, (number, Fraction(1, 10), INF), strict=True)]
        assert compare(x, objects).tolist() == expected
        for dtype in ("float64", "float16"):
            floats = np.array([1.5, -INF, INF], dtype)
            assert compare(x, floats).tolist() == [compare(v, y) for v, y in zip(values, floats.tolist(), strict=True)]


def test_comparisons_with_what_takes_too_long_to_write():
    x = mp([1, -3, 0])
    assert (x < Decimal("1e999999999999")).all()
    assert (x > Decimal("1e-999999999999")).tolist() == [True, False, False]
    assert (x < mpmath.mpf("1e-10000000000000000000")).tolist() == [False, True, True]
    far = x.scaled(10**30)
    assert (far > Decimal("1e999999999999")).tolist() == [True, False, False]
    assert (far < INF).all()
    assert (far > Fraction(1, 3)).tolist() == [True, False, False]
    with pytest.raises(OverflowError, match=r"^the operand: about .* bits to be written out"):
        assert x.scaled(10**12) < Decimal("1e280000000000")


@pytest.mark.parametrize(
    "other", [float("nan"), Decimal("NaN"), Decimal("sNaN"), np.array([INF, np.nan]), np.array([1, np.nan], object)]
)
def test_a_nan_compares_with_no_number(other):
    for compare in ORDERS:
        with pytest.raises(xl.NonFiniteError, match="a NaN compares with no number"):
            compare(mp([1, 2]), other)


FACTORS = st.one_of(
    st.integers(-(1 << 32) - 2, (1 << 32) + 2), st.integers(), st.integers(-(1 << 200), 1 << 200), DYADICS
)


@given(st.lists(DYADICS, min_size=1, max_size=4), FACTORS)
def test_scaling(values, factor):
    x = mp(values)
    assert (x * factor).tolist() == [v * factor for v in values]
    assert (factor * x).tolist() == [v * factor for v in values]
    assert (x * mp([factor])[0]).tolist() == [v * factor for v in values]


@given(st.lists(DYADICS, min_size=1, max_size=4), st.integers(-500, 500))
def test_powers_of_two_and_the_normal_form(values, power):
    x = mp(values).scaled(power)
    assert x.tolist() == [v * Fraction(2) ** power for v in values]
    wide = x + 2**300 - 2**300
    normal = wide.normalized()
    assert normal.tolist() == x.tolist()
    assert (normal.exponent, normal.limbs.tolist()) == (mp(x.tolist()).exponent, mp(x.tolist()).limbs.tolist())
    assert xl.digest(wide) == xl.digest(x)


def test_digests_tell_values_and_shapes_apart():
    x = mp([1, 2, 3, 4])
    others = [mp([1, 2, 3, 5]), x.scaled(1), x.reshape(2, 2), x[:3], -x, MPArray.from_float(np.zeros(0))]
    assert len({xl.digest(y) for y in (x, *others)}) == 7


@pytest.mark.parametrize(
    "other",
    [2, 1.5, np.float32(1.5), np.int64(-3), Fraction(3, 8), gmpy2.mpz(7), gmpy2.mpfr("0.1"), gmpy2.mpq(1, 2), True],
)
def test_numbers_of_every_kind(other):
    x = mp([1, -2])
    value = (
        Fraction(*map(int, other.as_integer_ratio())) if hasattr(other, "as_integer_ratio") else Fraction(int(other))
    )
    assert (x + other).tolist() == (other + x).tolist() == [1 + value, -2 + value]
    assert (x - other).tolist() == [1 - value, -2 - value]
    assert (other - x).tolist() == [value - 1, value + 2]
    assert (x * other).tolist() == (other * x).tolist() == [value, -2 * value]
    assert (x < other).tolist() == [value > 1, value > -2]
    assert (other >= x).tolist() == [value >= 1, value >= -2]


def test_arrays_broadcast():
    x = mp([[1, 2], [3, 4]])
    assert (x + np.array([0.5, 1])).tolist() == [[1.5, 3], [3.5, 5]]
    assert (np.array([0.5, 1]) + x).tolist() == [[1.5, 3], [3.5, 5]]
    assert (np.array([[1.0], [2.0]]) - x).tolist() == [[0, -1], [-1, -2]]
    assert (x + mp([10])).tolist() == [[11, 12], [13, 14]]
    assert (x == np.array([[1, 0], [3, 0]])).tolist() == [[True, False], [True, False]]
    assert isinstance(mp([1])[0] == 1, np.bool_)
    with pytest.raises(ValueError, match=r"shapes \(2, 2\) and \(3,\) do not broadcast"):
        x + np.zeros(3)


@pytest.mark.parametrize("other", ["1", None, [1, 2], object()])
def test_what_is_no_number_is_refused(other):
    x = mp([1, 2])
    for operation in (operator.add, operator.sub, operator.mul, operator.lt):
        with pytest.raises(TypeError):
            operation(x, other)
    assert (x == other) is False
    assert (x != other) is True


def test_numbers_that_are_not_dyadic_are_refused():
    with pytest.raises(ValueError, match="precision"):
        mp([1]) + Fraction(1, 3)
    with pytest.raises(xl.NonFiniteError):
        mp([1]) * float("nan")
    with pytest.raises(TypeError, match="mp_mm"):
        mp([1]) * mp([2])


def test_nothing_converts_unasked():
    x = mp([1, 2])
    with pytest.raises(TypeError, match="to_float"):
        np.asarray(x)
    with pytest.raises(TypeError):
        np.sqrt(x)
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(TypeError):
        x[0] = 1


def test_copies_and_pickles():
    x = MPArray.from_strings(["0.1", "-3e40"], 300)
    for y in (x.copy(), copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (y == x).all()
        assert y.exponent == x.exponent
        assert not np.shares_memory(y.limbs, x.limbs)


def test_display():
    assert repr(mp([1, 2.5])) == "MPArray([1, 2.5], 3 bits * 2**-1)"
    assert str(mp([[1], [-0.5]])) == "[[1], [-0.5]]"
    assert repr(mp([3])[0]) == "MPArray(3, 2 bits * 2**0)"
    assert repr(MPArray.from_float(np.zeros((0, 2)))) == "MPArray([], shape (0, 2), 0 bits * 2**0)"
    third = MPArray.from_fractions([Fraction(1, 3)] * 9, precision=10_000)
    assert str(third) == "[" + ", ".join(["0.33333333333333333"] * 6) + ", ... 3 more]"
    assert len(repr(mp([10**5000 + 1] * 100).reshape(10, 10))) < 1500


@pytest.mark.parametrize("power", [0, 300, -300, 30_000, -30_000, 10**9, -(10**9), 10**25, -(10**25)])
def test_display_of_any_exponent(power):
    text = str(mp([-3, 0]).scaled(power))
    assert len(text) < 100
    if abs(power) <= 300:
        assert float(text.strip("[]").split(",")[0]) == -3 * 2.0**power


def test_bits():
    assert mp([0]).bits == 0
    assert mp([-(2**64)]).scaled(5).bits == 1
    assert mp([1, -(2**64)]).bits == 65
    assert MPArray._of(np.array([[0, 1 << 63]], np.uint64), 0).bits == 128
    assert mp([7]).nbytes == 8


def test_the_least_integer_of_its_limbs():
    least = MPArray._of(np.array([[0, 1 << 63]], np.uint64), 0)
    value = -(1 << 127)
    assert least.item() == value
    assert (-least).item() == abs(least).item() == -value
    assert (least - 1).item() == value - 1
    assert (least * -3).item() == -3 * value
    assert least.rounded(2).item() == value
    assert least.to_float().item() == float(value)
    assert (least < least + 1).all()


def test_nothing_changes():
    x = mp([1, 2])
    for name, value in {"exponent": 3, "limbs": np.zeros((2, 1), np.uint64), "new": 1}.items():
        with pytest.raises(AttributeError, match=f"never changes, and {name} cannot be set"):
            setattr(x, name, value)
    with pytest.raises(ValueError, match="read-only"):
        x.limbs[0] = 5
    assert x.tolist() == pickle.loads(pickle.dumps(x)).tolist() == [1, 2]
    assert not pickle.loads(pickle.dumps(x)).limbs.flags.writeable


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x * x, TypeError, "multiplied by a number; the operator @ and exactla.mp_mm multiply matrices"),
        (lambda x: x @ np.ones((3, 2)), ValueError, r"a has shape \(2,\) and b has shape \(3, 2\)"),
        (lambda x: x @ 2, ValueError, r"a has shape \(2,\) and b has shape \(\)"),
        (lambda x: x + np.nan, xl.NonFiniteError, "^the operand is not finite$"),
        (lambda x: x * Fraction(1, 3), ValueError, "^the operand = 1/3 is no .*; MPArray.from_fractions"),
        (float, TypeError, r"shape \(2,\) is no single number; index it"),
        (lambda x: x.item(), ValueError, r"shape \(2,\) has no only entry"),
        (lambda x: x.scaled(0.5), TypeError, "an exponent is an integer, got a float"),
        (lambda x: x.to_strings("5"), TypeError, "a number of digits is an integer, got a str"),
        (lambda x: xl.mm(x, x), TypeError, r"a is a .*MPArray; exactla.mp_mm multiplies it, and to_float\(\)"),
        (lambda x: xl.solve(x, x), ValueError, r"A has shape \(2,\); it must have 2 axes"),
    ],
)
def test_messages_say_what_helps(call, error, message):
    with pytest.raises(error, match=message):
        call(mp([1, 2]))
