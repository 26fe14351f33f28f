"""Matrix Market files of every kind, and the faults that SciPy's reader lets through or dies of."""

import io
import sys

import numpy as np
import pytest

from exactla.cli.exits import InputError
from exactla.cli.mtx_file import read_mtx

pytest.importorskip("scipy")


def read(kind, body):
    return read_mtx(io.BytesIO(f"%%MatrixMarket matrix {kind}\n% a comment\n{body}".encode()), "x.mtx")


@pytest.mark.parametrize(
    ("kind", "body", "dtype", "matrix"),
    [
        ("array real general", "2 2\n1.5\n2\n-3e0\n4\n", "float64", [[1.5, -3], [2, 4]]),
        (
            "array integer general",
            "2 1\n9223372036854775807\n-9223372036854775808\n",
            "int64",
            [[2**63 - 1], [-(2**63)]],
        ),
        ("array complex general", "1 2\n1 2\n3 -4\n", "complex128", [[1 + 2j, 3 - 4j]]),
        ("array real symmetric", "2 2\n1\n2\n3\n", "float64", [[1, 2], [2, 3]]),
        ("array real skew-symmetric", "2 2\n5\n", "float64", [[0, -5], [5, 0]]),
        ("coordinate real general", "2 3 2\n1 1 .5\n2 3 4\n", "float64", [[0.5, 0, 0], [0, 0, 4]]),
        ("coordinate integer general", "1 1 1\n1 1 9007199254740993\n", "int64", [[2**53 + 1]]),
        ("coordinate unsigned-integer general", "1 1 1\n1 1 18446744073709551615\n", "uint64", [[2**64 - 1]]),
        ("coordinate pattern general", "2 2 2\n1 2\n2 1\n", "float64", [[0, 1], [1, 0]]),
        ("coordinate pattern symmetric", "2 2 1\n2 1\n", "float64", [[0, 1], [1, 0]]),
        ("coordinate complex hermitian", "2 2 1\n2 1 1 2\n", "complex128", [[0, 1 - 2j], [1 + 2j, 0]]),
        ("coordinate real general", "1 1 1\n1 1 nan\n", "float64", [[np.nan]]),
        ("coordinate real general", "2 2 1\r\n\n 1  2   3 \r\n\n", "float64", [[0, 3], [0, 0]]),
    ],
)
def test_every_kind_is_read_exactly(kind, body, dtype, matrix):
    array = read(kind, body)
    assert array.dtype == dtype
    assert np.array_equal(array, np.array(matrix, dtype=dtype), equal_nan=array.dtype.kind != "i")


@pytest.mark.parametrize("layout", ["array", "coordinate"])
@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (0, 0)])
def test_without_rows_or_columns(layout, sizes):
    entries = " 0" if layout == "coordinate" else ""
    assert read(f"{layout} real general", f"{sizes[0]} {sizes[1]}{entries}\n").shape == sizes


@pytest.mark.parametrize(
    ("kind", "body", "fault"),
    [
        ("array real general", "1 2\n1.5x\n2\n", "line 4: '1.5x' is not an entry of a array real matrix"),
        ("coordinate integer general", "1 1 1\n1 1 1.5\n", "line 4: '1 1 1.5' is not an entry"),
        ("coordinate real general", "1 11 1\n1 11.5\n", "line 4: '1 11.5' is not an entry"),
        ("coordinate real general", "1 1 1\n1 1 1 1\n", "line 4: '1 1 1 1' is not an entry"),
        ("coordinate pattern general", "1 1 1\n1 1 1\n", "line 4: '1 1 1' is not an entry"),
        ("coordinate real general", "1 1 1\n1 1 abc\n", "line 4: '1 1 abc' is not an entry"),
        ("coordinate integer general", "1 1 1\n1 1 99999999999999999999\n", "Line 4: Integer out of range.*csv"),
        ("coordinate real general", "2 2 3\n1 1 1\n2 2 1\n1 1 1\n", r"the entry \(1, 1\) is given more than once"),
        ("coordinate real symmetric", "2 2 2\n1 2 1\n2 1 1\n", r"the entry \(1, 2\) is given more than once"),
    ],
)
def test_faults_that_scipy_lets_through(kind, body, fault):
    with pytest.raises(InputError, match=f"^x.mtx: .*{fault}"):
        read(kind, body)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("coordinate real general", "2 2 3\n1 1 1\n"),
        ("coordinate real general", "2 2 1\n1 1 1\n2 2 2\n"),
        ("coordinate real general", "2 2 1\n3 1 1\n"),
        ("array real general", "2 2\n1\n2\n3\n"),
        ("array real general", "-2 2\n"),
        ("array pattern general", "1 1\n"),
        ("array quaternion general", "1 1\n1\n"),
        ("heap real general", "1 1\n1\n"),
    ],
)
def test_faults_that_scipy_finds(kind, body):
    with pytest.raises((ValueError, InputError)):
        read(kind, body)


def test_too_large_for_any_memory():
    with pytest.raises(MemoryError, match=r"10000000000 x 10000000000 takes 800,000,000,000,000,000,000 bytes"):
        read("coordinate real general", "10000000000 10000000000 1\n1 1 1\n")


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    with pytest.raises(InputError, match=r'x.mtx: .mtx files need SciPy: pip install "exactla\[cli\]"'):
        read("array real general", "1 1\n1\n")
