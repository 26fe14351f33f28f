"""Sizes, shapes and widths as text."""

import ml_dtypes
import numpy as np
import pytest

from exactla.cli import report


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("1048576", 2**20),
        ("512B", 512),
        ("2GiB", 2**31),
        ("2 gib", 2**31),
        ("2G", 2**31),
        ("1.5Ki", 1536),
        ("500MB", 500 * 10**6),
        ("3kB", 3000),
        ("1TiB", 2**40),
        ("8589934593", 2**33 + 1),
        ("9007199254740993", 2**53 + 1),
    ],
)
def test_bytes(text, size):
    assert report.parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "0", "0.5", "-1", "2 GiBs", "GiB", "1e9", "nan", "2PB!", "\u0661"])
def test_not_bytes(text):
    with pytest.raises(ValueError, match="is not a size in bytes"):
        report.parse_bytes(text)


def test_describe():
    assert report.describe(np.zeros((3, 4), np.float32)) == "3 x 4 float32"
    assert report.describe(np.array(1.0)) == "scalar float64"
    assert report.describe(np.array([10**30], dtype=object)) == "1 Python integers"
    assert report.describe(np.zeros((0, 2), ml_dtypes.bfloat16)) == "0 x 2 bfloat16"


def test_widths():
    lo = np.array([[1.0, -0.0], [np.inf, 5e-324]])
    hi = np.array([[1.0, 0.0], [np.inf, 1.5e-323]])
    assert report.widths(lo, hi) == "at most 2 ulps; 3 of 4 entries (75.0%) are exact, lo == hi"
    assert report.widths(lo, lo) == "at most 0 ulps; 4 of 4 entries (100.0%) are exact, lo == hi"


def test_widths_without_numbers():
    nan = np.array([np.nan, 1.0])
    assert report.widths(nan, nan) == "at most 0 ulps; 1 of 2 entries (50.0%) are exact, lo == hi; 1 NaN"
    assert report.widths(nan[:1], nan[:1]) == "every entry is NaN"
    assert report.widths(nan[:0], nan[:0]) == "no entries"


def test_widths_of_complex_take_the_wider_part():
    lo = np.array([1 + 1j, 2 + 2j])
    hi = np.array([1 + np.nextafter(1, 2) * 1j, 2 + 2j])
    assert report.widths(lo, hi) == "at most 1 ulp; 1 of 2 entries (50.0%) are exact, lo == hi"
    assert report.widths(lo[0], hi[0]) == "at most 1 ulp; 0 of 1 entries (0.0%) are exact, lo == hi"


def test_table_and_rows():
    assert report.table(("a", "bc"), [("def", ""), ("g", "h")]) == "a    bc\n---  --\ndef\ng    h"
    assert report.rows([("a", "x"), ("bcd", "y")], indent=" ") == " a    x\n bcd  y"


@pytest.mark.parametrize(("duration", "text"), [(0.00123456, "1.23 ms"), (0.5, "500 ms"), (12.345, "12.3 s")])
def test_seconds(duration, text):
    assert report.seconds(duration) == text
