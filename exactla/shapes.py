"""Shapes of products: what `numpy.matmul` accepts, as stacks of matrices and the pairs of them that are multiplied."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Literal, NamedTuple

import numpy as np

from exactla.core.contraction import Pairing

Form = Literal["nn", "nt", "gram", "batched"]
"""Which product is meant: a @ b, a @ b.T, a @ a.T, or that of two stacks of equal length."""


class Layout(NamedTuple):
    """A product as T pairs of [rows, depth] and [columns, depth] matrices, and the shape the caller expects."""

    rows: int
    columns: int
    depth: int
    left_index: tuple[int, ...]
    right_index: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def result(self) -> tuple[int, int, int]:
        """[T, R, C]."""
        return len(self.left_index), self.rows, self.columns

    def pairing(self, left_stacks: int, right_stacks: int) -> Pairing:
        """The pairs, given how many matrices each side holds: one may stand for all where it is repeated."""
        return Pairing(
            self.left_index if left_stacks > 1 else (0,) * len(self.left_index),
            self.right_index if right_stacks > 1 else (0,) * len(self.right_index),
        )


def matmul_layout(a: tuple[int, ...], b: tuple[int, ...], *, transposed: bool, names: tuple[str, str]) -> Layout:
    """The layout of a @ b, or of a @ b.T with `transposed`; vectors, stacks and broadcasting as in `numpy.matmul`.

    Raises
    ------
    ValueError
        An operand is a number, the inner dimensions differ, or the stacks do not broadcast.
    """
    if len(a) == len(b) == 2:
        return _matrices(a, b, transposed, names)
    if not a or not b:
        name = names[1 if a else 0]
        raise ValueError(f"{name} is a single number; operands of a product have one dimension or more")
    left, right = a if len(a) > 1 else (1, *a), b if len(b) > 1 else (1, *b)
    by_rows = transposed or len(b) == 1
    rows, depth = left[-2], left[-1]
    columns, other = (right[-2], right[-1]) if by_rows else (right[-1], right[-2])
    if depth != other:
        raise _unequal(a, b, depth, other, transposed, names)
    try:
        stacks = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        raise ValueError(f"stacks of {names[0]} of shape {a} and {names[1]} of shape {b} do not broadcast") from None
    shape = stacks + ((rows,) if len(a) > 1 else ()) + ((columns,) if len(b) > 1 else ())
    return Layout(rows, columns, depth, _index(left[:-2], stacks), _index(right[:-2], stacks), shape)


@lru_cache(maxsize=256)
def _matrices(a: tuple[int, ...], b: tuple[int, ...], transposed: bool, names: tuple[str, str]) -> Layout:
    """The layout of a product of two matrices: kept, since small products take not much longer."""
    columns, other = b if transposed else (b[1], b[0])
    if a[1] != other:
        raise _unequal(a, b, a[1], other, transposed, names)
    return Layout(a[0], columns, other, (0,), (0,), (a[0], columns))


def _unequal(
    a: tuple[int, ...], b: tuple[int, ...], depth: int, other: int, transposed: bool, names: tuple[str, str]
) -> ValueError:
    form = f"{names[0]} @ {names[1]}{'.T' if transposed else ''}"
    return ValueError(f"inner dimensions of {form} differ: {depth} of shape {a} and {other} of shape {b}")


def check_form(form: Form, shapes: Sequence[Sequence[int]], names: Sequence[str]) -> None:
    """Check what a form of product asks of its operands beyond `matmul_layout`.

    Raises
    ------
    ValueError
        A Gram matrix of no matrix, or a batched product of anything but two stacks of equal length.
    """
    if form == "gram" and len(shapes[0]) < 2:
        a = names[0]
        raise ValueError(f"the Gram matrix {a} @ {a}.T needs a matrix, and {a} has shape {tuple(shapes[0])}")
    if form == "batched" and (any(len(s) != 3 for s in shapes) or shapes[0][0] != shapes[1][0]):
        raise ValueError(
            f"a batched product takes (batch, M, K) and (batch, K, N), got {names[0]} of shape {tuple(shapes[0])} "
            f"and {names[1]} of shape {tuple(shapes[1])}"
        )


def _matrix(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape if len(shape) > 1 else (1, *shape)


def _index(own: tuple[int, ...], stacks: tuple[int, ...]) -> tuple[int, ...]:
    """For each result, the position of its matrix among an operand's own."""
    if own == stacks:
        return tuple(range(prod(own)))
    numbers = np.arange(prod(own)).reshape(own)
    return tuple(np.broadcast_to(numbers, stacks).ravel().tolist())
