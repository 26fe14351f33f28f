"""Layouts of products against `numpy.matmul`, and the messages for shapes that do not fit."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactla.shapes import matmul_layout

NAMES = ("a", "b")
FITTING = [
    ((3,), (3,)),
    ((1,), (1,)),
    ((0,), (0,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((0, 3), (3, 4)),
    ((2, 3), (3, 0)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (7, 3, 4)),
    ((7, 2, 3), (5, 1, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((0, 2, 3), (0, 3, 4)),
    ((0, 2, 3), (1, 3, 4)),
    ((4, 0, 2, 3), (3, 2)),
    ((2, 1, 3, 1, 2, 3), (3, 1, 4, 3, 2)),
]


def product_by_layout(a, b, layout, *, transposed=False):
    """What a layout says a product is: pairs of rows, in the shape that the caller expects."""
    left = a.reshape(-1, layout.rows, layout.depth)
    if b.ndim == 1:
        right = b.reshape(-1, 1, layout.depth)
    else:
        rows = b if transposed else b.swapaxes(-1, -2)
        right = np.ascontiguousarray(rows).reshape(-1, layout.columns, layout.depth)
    pairs = zip(layout.left_index, layout.right_index, strict=True)
    results = [left[i] @ right[j].T for i, j in pairs]
    return np.array(results).reshape(layout.result).reshape(layout.shape)


def check(a_shape, b_shape):
    a, b = np.arange(prod(a_shape)).reshape(a_shape) + 1, np.arange(prod(b_shape)).reshape(b_shape) + 1
    layout = matmul_layout(a_shape, b_shape, transposed=False, names=NAMES)
    expected = np.matmul(a, b)
    assert layout.shape == expected.shape
    assert layout.result == (prod(expected.shape) // max(layout.rows * layout.columns, 1) if expected.size else
                             len(layout.left_index), layout.rows, layout.columns)  # fmt: skip
    if a.size and b.size:
        assert (product_by_layout(a, b, layout) == expected).all()
    if b.ndim > 1:
        bt = b.swapaxes(-1, -2)
        same = matmul_layout(a_shape, bt.shape, transposed=True, names=NAMES)
        assert same == layout
        if a.size and b.size:
            assert (product_by_layout(a, bt, same, transposed=True) == expected).all()


@pytest.mark.parametrize("shapes", FITTING, ids=str)
def test_what_matmul_accepts(shapes):
    check(*shapes)


@given(st.data())
@settings(deadline=None, max_examples=150, derandomize=True)
def test_any_shapes_that_broadcast(data):
    length = st.integers(1, 3)
    stacks = data.draw(st.lists(length, max_size=3))

    def part():
        kept = stacks[data.draw(st.integers(0, len(stacks))) :]
        return tuple(1 if data.draw(st.booleans()) else n for n in kept)

    rows, depth, columns = data.draw(length), data.draw(length), data.draw(length)
    check((*part(), rows, depth), (*part(), depth, columns))


BAD = [
    ((2, 3), (2, 3)),
    ((3,), (4,)),
    ((3,), (2, 3)),
    ((2, 3), (2,)),
    ((2, 3), (0, 4)),
    ((2, 2, 3), (3, 3, 4)),
    ((0, 2, 3), (2, 3, 4)),
]


@pytest.mark.parametrize("shapes", BAD, ids=str)
def test_what_matmul_refuses(shapes):
    with pytest.raises(ValueError, match=r"dimension|broadcast"):
        np.matmul(np.ones(shapes[0]), np.ones(shapes[1]))
    with pytest.raises(ValueError, match=r"inner dimensions|broadcast"):
        matmul_layout(*shapes, transposed=False, names=NAMES)


def test_messages_carry_names_and_shapes():
    with pytest.raises(
        ValueError, match=r"inner dimensions of x @ y differ: 3 of shape \(2, 3\) and 4 of shape \(4, 5\)"
    ):
        matmul_layout((2, 3), (4, 5), transposed=False, names=("x", "y"))
    with pytest.raises(ValueError, match=r"x @ y\.T differ: 3 of shape \(2, 3\) and 5 of shape \(4, 5\)"):
        matmul_layout((2, 3), (4, 5), transposed=True, names=("x", "y"))
    with pytest.raises(
        ValueError, match=r"stacks of x of shape \(2, 1, 3\) and y of shape \(3, 3, 1\) do not broadcast"
    ):
        matmul_layout((2, 1, 3), (3, 3, 1), transposed=False, names=("x", "y"))


@pytest.mark.parametrize("shapes", [((), (3,)), ((3,), ()), ((), ())], ids=str)
def test_numbers_are_no_operands(shapes):
    with pytest.raises(ValueError, match=r"[ab] is a single number"):
        matmul_layout(*shapes, transposed=False, names=NAMES)


def test_pairs_of_a_repeated_matrix():
    layout = matmul_layout((5, 2, 3), (5, 3, 4), transposed=False, names=NAMES)
    assert layout.pairing(5, 5).left_index == (0, 1, 2, 3, 4)
    once = layout.pairing(1, 5)
    assert (once.left_index, once.right_index) == ((0,) * 5, (0, 1, 2, 3, 4))
    assert layout.pairing(5, 1).right_index == (0,) * 5
