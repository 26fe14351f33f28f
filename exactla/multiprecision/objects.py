"""Arrays of numbers as objects (gmpy2, mpmath, fractions, python-flint, numerals) to limbs and back.

What an `MPArray` is made of and turned into, entry by entry in Python integers; knows shapes and names of arguments.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core import dyadics
from exactla.core.dyadics import Dyadic, NotDyadicError, NotFiniteError
from exactla.core.limbs import LIMB, Limbs, to_limbs, trimmed
from exactla.core.scaling import mapped
from exactla.errors import NonFiniteError
from exactla.libraries.base import type_name
from exactla.multiprecision.limits import check_room

Objects = NDArray[np.object_]

ROUNDED, ROUNDED_FIRST = "pass precision=..., to which it is rounded", "MPArray.from_fractions rounds it to a precision"
"""What helps where a number is not dyadic."""

OPERAND = "the operand"
"""Name of the other side of an operator, which takes no precision."""

_MOST_SHIFT = (1 << 63) - 1
"""Of gmpy2: by so much nothing but 0 stays within its exponents."""

_MATRICES = {"flint": ("arb_mat", "fmpz_mat", "fmpq_mat"), "mpmath": ("matrix",)}


def as_objects(array: Any, name: str) -> Objects:
    """An argument as an object array: an array, nested lists, a number alone, a matrix of FLINT or mpmath.

    Raises
    ------
    ValueError
        Nested lists differ in length.
    """
    package, kind = type(array).__module__.partition(".")[0], type(array).__name__
    if kind in _MATRICES.get(package, ()):
        return _from_matrix(array, package)
    if isinstance(array, np.ndarray):
        return array.astype(object)
    if not isinstance(array, (list, tuple)):
        found = np.empty((), object)
        found[()] = array
        return found
    return _nested(array, name)


def _from_matrix(matrix: Any, package: str) -> Objects:
    shape = (matrix.nrows(), matrix.ncols()) if package == "flint" else (matrix.rows, matrix.cols)
    found = np.empty(shape[0] * shape[1], object)
    found[:] = matrix.entries() if package == "flint" else list(matrix)
    return found.reshape(shape)


def _nested(value: Any, name: str) -> Objects:
    """Nested lists as an array; no entry is looked into, so that numbers which are sequences stay numbers."""
    shape: list[int] = []
    level = value
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        if not level:
            break
        level = level[0]
    flat = [value]
    for length in shape:
        if not all(isinstance(part, (list, tuple)) and len(part) == length for part in flat):
            raise ValueError(f"{name} is ragged: its nested lists differ in length")
        flat = [item for part in flat for item in part]
    if any(isinstance(item, (list, tuple)) for item in flat):
        raise ValueError(f"{name} is ragged: its nested lists differ in length")
    found = np.empty(len(flat), object)
    for i, item in enumerate(flat):  # one by one: NumPy looks into several
        found[i] = item
    return found.reshape(shape)


def read(array: Objects, name: str, read_one: Callable[[Any], Dyadic], accepted: str) -> tuple[Limbs, int]:
    """Limbs and the exponent of numbers.

    Raises
    ------
    TypeError, NonFiniteError, ValueError, OverflowError
        By an entry: it is of another kind, not finite, not exact, or too long.
    WorkspaceError
        The entries' exponents are so far apart that their limbs do not fit.
    """
    numbers = []
    for position, value in enumerate(array.flat):
        try:
            numbers.append(read_one(value))
        except NotFiniteError:
            raise NonFiniteError(name, _index(array.shape, position)) from None
        except NotDyadicError:
            rounded = ROUNDED_FIRST if name == OPERAND else ROUNDED
            raise ValueError(
                f"{_entry(name, array.shape, position)} = {str(value)[:40]} is no integer times a power of two; "
                f"{rounded}"
            ) from None
        except TypeError:
            kind = type_name(value)
            raise TypeError(f"{_entry(name, array.shape, position)} is a {kind}; {accepted}") from None
        except (ValueError, OverflowError) as error:
            raise type(error)(f"{_entry(name, array.shape, position)}: {error}") from None
    return _joined(numbers, array.shape)


def from_dyadics(array: Objects) -> tuple[Limbs, int]:
    """Limbs and the exponent of an object array of `Dyadic`, as `read` gives them."""
    return _joined(array.ravel().tolist(), array.shape)


def _joined(numbers: Sequence[Dyadic], shape: tuple[int, ...]) -> tuple[Limbs, int]:
    exponent, bits = dyadics.extent(numbers)
    count = bits // LIMB + 1
    check_room(len(numbers), count)
    limbs = trimmed(to_limbs(dyadics.integers(numbers, exponent), count))
    return limbs.reshape(*shape, limbs.shape[-1]), exponent


def _index(shape: tuple[int, ...], position: int) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(position, shape))


def _entry(name: str, shape: tuple[int, ...], position: int) -> str:
    place = ", ".join(map(str, _index(shape, position)))
    return f"{name}[{place}]" if place else name


def to_mpfr(integers: Objects, exponent: int, precision: int) -> Objects:
    """Each integer * 2**exponent as a `gmpy2.mpfr` of that precision, to nearest.

    Raises
    ------
    OverflowError
        One is beyond the exponents that gmpy2 computes with, whatever its context allows.
    """
    import gmpy2

    limits = gmpy2.context(
        precision=precision, round=gmpy2.RoundToNearest, emin=gmpy2.get_emin_min(), emax=gmpy2.get_emax_max()
    )
    with gmpy2.context(limits):
        scale, mpz, mpfr = gmpy2.mul_2exp if exponent >= 0 else gmpy2.div_2exp, gmpy2.mpz, gmpy2.mpfr
        by = min(abs(exponent), _MOST_SHIFT)
        found = mapped(integers, lambda v: scale(mpfr(mpz(v), precision), by))
        if not all(gmpy2.is_finite(x) and (x or not v) for x, v in zip(found.flat, integers.flat, strict=True)):
            raise OverflowError(f"an entry times 2**{exponent} is beyond the exponents of gmpy2.mpfr")
        return found


def to_mpmath(integers: Objects, exponent: int, precision: int | None) -> Objects:
    """Each integer * 2**exponent as an `mpmath.mpf`, of that precision or exactly."""
    from mpmath import libmp, mp

    rounding = () if precision is None else (precision, libmp.round_nearest)
    return mapped(integers, lambda v: mp.make_mpf(libmp.from_man_exp(v, exponent, *rounding)))


def to_flint(integers: Objects, exponent: int) -> Any:
    """A `flint.arb_mat` of exact midpoints."""
    import flint

    rows = integers if integers.ndim == 2 else integers[:, None]
    return flint.arb_mat(*rows.shape, [flint.arb((v, exponent)) for v in rows.flat])
