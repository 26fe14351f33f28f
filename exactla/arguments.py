"""Checks of arguments that are plain numbers."""

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray


def integer(value: Any, what: str) -> int:
    """An integer of any type as Python's, or the error that names the argument."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is an integer, got a {type(value).__name__}") from None


def flag(value: Any, what: str) -> bool:
    """True or False, or the error that names the argument."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{what} is True or False, got a {type(value).__name__}")
    return bool(value)


def integers(values: NDArray[Any], what: str) -> NDArray[np.object_]:
    """An object array of integers of any types as Python's, or the error that names what an entry should be."""
    found = np.empty(values.size, object)
    try:
        found[:] = [operator.index(v) for v in values.flat]
    except TypeError:
        wrong = next(v for v in values.flat if not hasattr(v, "__index__"))
        raise TypeError(f"{what} is an integer, got a {type(wrong).__name__}") from None
    return found.reshape(values.shape)
