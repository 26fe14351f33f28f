"""`Rational`: entries, roundings and conversions, against Fractions and the conformance suite's rounding."""

from fractions import Fraction

import flint
import gmpy2
import numpy as np
import pytest

import exactla as xl
from exactla_conformance.encodings import FLOATS
from tests.oracle import FORMATS, ROUNDINGS


def test_entries_are_fractions_made_on_demand():
    x = xl.Rational([[2, 4], [-6, 0]], 4)
    assert (x.numerators.tolist(), x.denominator) == ([[1, 2], [-3, 0]], 2)
    assert x[0, 1] == x[0][1] == 1
    assert isinstance(x[1, 0], Fraction)
    assert x[1] == xl.Rational([-3, 0], 2)
    assert x.tolist() == [[Fraction(1, 2), 1], [Fraction(-3, 2), 0]]
    assert [list(row) for row in x] == x.tolist()
    assert (x.shape, x.ndim, x.size, len(x)) == ((2, 2), 2, 4, 2)


def test_the_denominator_is_positive_and_lowest():
    x = xl.Rational([3, -6], -9)
    assert (x.numerators.tolist(), x.denominator) == ([-1, 2], 3)
    assert xl.Rational([0, 0], -9).denominator == 1
    assert xl.Rational([], 7).denominator == 1
    with pytest.raises(ZeroDivisionError):
        xl.Rational([1], 0)


def test_equality_and_hash():
    x = xl.Rational([1, 2], 3)
    assert x == xl.Rational([2, 4], 6)
    assert hash(x) == hash(xl.Rational([2, 4], 6))
    assert x != xl.Rational([1, 2], 5)
    assert x != xl.Rational([[1, 2]], 3)
    assert x != [Fraction(1, 3), Fraction(2, 3)]


def test_conversions():
    x = xl.Rational([[1, -2]], 6)
    assert x.to_gmpy2().tolist() == [[gmpy2.mpq(1, 6), gmpy2.mpq(-1, 3)]]
    assert x.to_flint() == flint.fmpq_mat([[flint.fmpq(1, 6), flint.fmpq(-1, 3)]])
    assert x[0].to_flint().nrows() == 2


def test_repr_never_prints_thousands_of_digits():
    x = xl.Rational([10**5000] * 100, 7**5000)
    assert repr(x).count("16610 bits") == 6
    assert "94 more" in repr(x)
    assert repr(xl.Rational([], 1)) == "Rational([] / 1)"


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_format_rounds_once(name, rounding, rng):
    format = FORMATS[name]
    values = [Fraction(int(rng.integers(-(1 << 40), 1 << 40)), int(rng.integers(1, 1 << 40))) for _ in range(50)]
    scales = [Fraction(2) ** int(e) for e in rng.integers(format.least_exponent - 4, 1 - format.least_exponent, 50)]
    values = [v * s for v, s in zip(values, scales, strict=True)] + [Fraction(0), Fraction(1), Fraction(-1, 3)]
    # ties and neighbours of values
    values += [Fraction(2 * k + 1, 2) * Fraction(2) ** format.least_exponent for k in range(-3, 4)]
    denominator = 1
    for v in values:
        denominator *= v.denominator
    x = xl.Rational([v.numerator * (denominator // v.denominator) for v in values], denominator)
    found = x.round(name, rounding).view(format.word)
    expected = np.array([FLOATS[name].round(v, rounding) for v in values], format.word)
    assert (found == expected).all()


def test_enclosures_hold_the_numbers(rng):
    x = xl.Rational([1, -1, 0, 3], 3)
    lo, hi = x.enclose("float32")
    assert lo.dtype == np.float32
    assert xl.width_ulps(lo, hi).tolist() == [1, 1, 0, 0]
    with pytest.raises(ValueError, match="rounding"):
        x.round("float32", "sideways")
    with pytest.raises(TypeError, match="complex"):
        x.round("complex64")


def test_arrays_without_axes():
    for x in (xl.Rational(5, 10), xl.Rational(np.array(1, object), 2)):
        assert (x.shape, x.ndim, x.size, x.denominator) == ((), 0, 1, 2)
        assert x[()] == x.tolist() == Fraction(1, 2)
        assert x.round() == 0.5
        assert x.round().shape == x.to_gmpy2().shape == ()
        assert repr(x) == "Rational(1 / 2)"
        assert x == xl.Rational(1, 2)


def test_parts_that_are_no_integers():
    for numerators in ([0.5], ["1"], [None]):
        with pytest.raises(TypeError, match="a numerator is an integer, got a"):
            xl.Rational(numerators, 1)
    with pytest.raises(TypeError, match="a denominator is an integer, got a float"):
        xl.Rational([1], 2.0)
    assert all(type(x) is int for x in xl.Rational([np.int64(4), True], np.int8(2)).numerators)
