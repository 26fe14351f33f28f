"""Encodings to NumPy arrays and back: every format, every layout, bit for bit."""

import numpy as np
import pytest

from exactla_conformance.arrays import from_array, to_array
from exactla_conformance.encodings import COMPLEX, FLOATS, INTEGERS, Encoded
from exactla_conformance.streams import Stream, anything, draw

LAYOUTS = ("C", "F", "reversed", "strided", "readonly", "offset")


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, *COMPLEX])
def test_there_and_back(name):
    for shape in ((), (3,), (2, 3), (0, 4), (2, 1, 3)):
        drawn = draw(Stream(name), name, shape, anything)
        assert from_array(to_array(drawn)) == drawn


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["float64", "float16", "bfloat16", "complex64", "int32"])
def test_a_layout_changes_no_value(name, layout):
    drawn = draw(Stream(name), name, (3, 4), anything, layout)
    array = to_array(drawn)
    assert from_array(array).entries == drawn.entries
    flags = {
        "C": array.flags.c_contiguous,
        "F": array.flags.f_contiguous,
        "reversed": max(array.strides) < 0,
        "strided": array.strides == (16 * array.itemsize, 2 * array.itemsize),
        "readonly": not array.flags.writeable,
        "offset": not array.flags.aligned,
    }
    assert flags[layout]


def test_a_repeated_stack_has_stride_zero():
    array = to_array(Encoded("float32", (3, 1, 2), [5, 6] * 3, "repeated"))
    assert array.strides[0] == 0
    assert from_array(array).entries == [5, 6] * 3


def test_nans_become_the_canonical_one():
    array = np.array([0x7FF0000000000001, 0xFFF8000000000000, 0x7FF0000000000000], np.uint64).view(np.float64)
    assert from_array(array).entries == [0x7FF8000000000000, 0x7FF8000000000000, 0x7FF0000000000000]


def test_a_numpy_scalar_has_no_dimension():
    assert from_array(np.float32(1)) == Encoded("float32", (), [0x3F800000])
