"""CSV files: integers of any size keep their value, decimals are the nearest float64, faults name their line."""

import io
import math
from fractions import Fraction

import numpy as np
import pytest

from exactla.cli.csv_file import read_csv
from exactla.cli.exits import InputError


def read(text):
    return read_csv(io.BytesIO(text if isinstance(text, bytes) else text.encode()), "x.csv")


def test_integers_are_int64():
    array = read("1, -2,+3\n4,5,6\n")
    assert array.dtype == np.int64
    assert array.tolist() == [[1, -2, 3], [4, 5, 6]]


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_int64_to_its_ends(value):
    array = read(f"{value}")
    assert array.dtype == np.int64
    assert array.tolist() == [[value]]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64 - 1, 10**300 + 1])
def test_integers_beyond_int64_are_python_integers(value):
    array = read(f"1,{value}\n2,3\n")
    assert array.dtype == object
    assert array.tolist() == [[1, value], [2, 3]]
    assert all(type(entry) is int for entry in array.ravel())


def test_an_integer_of_more_digits_than_python_converts():
    (entry,) = read("7" * 10_000).ravel()
    assert entry == 7 * (10**10_000 - 1) // 9


@pytest.mark.parametrize("text", ["0.1", "1.", ".5", "1e-3", "-2.5E+10", "4.9e-324", "17976931348623157e292", "-0.0"])
def test_decimals_are_the_nearest_float64(text):
    array = read(f"1,{text}")
    assert array.dtype == np.float64
    entry = float(array[0, 1])
    distance = abs(Fraction(text) - Fraction(entry))
    neighbours = (math.nextafter(entry, -math.inf), math.nextafter(entry, math.inf))
    assert all(distance <= abs(Fraction(text) - Fraction(x)) for x in neighbours if math.isfinite(x))
    assert np.signbit(entry) == text.startswith("-")


def test_an_integer_beside_decimals_is_rounded_once():
    array = read("9007199254740993,0.5")
    assert array.tolist() == [[float(2**53), 0.5]]


def test_not_finite_is_read():
    array = read("inf,-Infinity\nNaN,0")
    assert np.array_equal(array, [[np.inf, -np.inf], [np.nan, 0]], equal_nan=True)


@pytest.mark.parametrize("text", ["1,2\n3,4", "1,2\r\n3,4\r\n", "\ufeff1,2\n3,4\n", " 1 ,\t2\n3,4\n\n \n"])
def test_line_ends_spaces_and_byte_order_mark(text):
    assert read(text).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(("text", "shape"), [("1,2,3", (1, 3)), ("1\n2\n3", (3, 1)), ("1", (1, 1))])
def test_always_a_matrix(text, shape):
    assert read(text).shape == shape


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("alpha,beta\n1,2\n", r"line 1: 'alpha' is not a number \(a header"),
        ("1,2\n3,x\n", "line 2: 'x' is not a number"),
        ("1,2\n3\n", "line 2 has 1 entry, line 1 has 2 entries"),
        ("1,2\n3,4\n5,6,7\n", "line 3 has 3 entries, line 1 has 2 entries"),
        ("1,2\n\n3,4\n", "line 2: an entry is empty"),
        ("1,2\n3,\n", "line 2: an entry is empty"),
        ("1,2\n3,4,\n", "line 2: an entry is empty"),
        ("\n1,2\n", "line 1: an entry is empty"),
        (" \n \n", "there are no numbers"),
        ("1;2\n", "line 1: '1;2' is not a number"),
        ("1 2\n", "line 1: '1 2' is not a number"),
        ("1,1_000\n", "'1_000' is not a number"),
        ("1,\u0661\n", "is not a number"),
        ("1,1+2j\n", "'1[+]2j' is not a number"),
        ('1,"2"\n', "is not a number"),
        ("1,2\n1.5,1e999\n", "line 2: 1e999 is beyond float64"),
        ("0.5,1\n" + "1" + "0" * 400 + ",1\n", "line 2: an integer is beyond float64"),
        ("1," + "z" * 1000 + "\n", r"'z{40}'\.\.\. is not a number"),
        (b"1,2\n3,\xff\n", "line 2 is not UTF-8"),
        (b"1,2\n3,4\n\0\0", "line 3 has a zero byte"),
    ],
)
def test_faults_name_their_line(text, fault):
    with pytest.raises(InputError, match=f"^x.csv: .*{fault}"):
        read(text)
