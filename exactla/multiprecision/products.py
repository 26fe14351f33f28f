"""Products of multiple-precision matrices: exact, or rounded once per entry."""

from typing import Any

from exactla.arrays import agree_where_arrays, is_array, read
from exactla.core.expansions import Words
from exactla.formats import FLOAT64
from exactla.libraries.base import Source
from exactla.multiprecision import component_products
from exactla.multiprecision.limits import computed_precision
from exactla.multiprecision.mparray import MPArray, check_one_device
from exactla.multiprecision.multiplying import Multiplication
from exactla.multiprecision.places import HOST, kind_of, verbs_for
from exactla.results import Info


def mp_mm(a: Any, b: Any, precision: int | None = None, *, return_info: bool = False) -> Any:
    """Multiply matrices of multiple-precision numbers, exactly or rounded once per entry.

    Parameters
    ----------
    a : MPArray, shape (m, k) or (k,); or float64 array, shape (m, k, d) with d = 2, 3 or 4
        Multiple-precision numbers, or double-double, triple-double or quad-double components (see
        `MPArray.from_components`).
    b : MPArray, shape (k, n) or (k,); or float64 array, shape (k, n, d)
        As `a`.
    precision : int, optional
        Significant bits that every entry is rounded to, to nearest, ties to even. By default the product is exact.
    return_info : bool
        Whether to return an `Info` too.

    Returns
    -------
    MPArray or float64 array
        ``a @ b``, on the device of both. The product of two arrays of d components has d components, in an array of
        their library, each the nearest float64 to what those before it leave of the exact sum, which is rounded to
        `precision` bits first where that is asked for.
    Info
        Only with `return_info`.

    Raises
    ------
    TypeError, ValueError
        An operand is of another type; shapes do not fit; components overlap; devices differ.
    WorkspaceError
        Not even one row at a time fits the workspace limit.

    Examples
    --------
    >>> import exactla as xl
    >>> x = xl.MPArray.from_strings([["0.1", "0.2"]], precision=100)
    >>> exact = xl.mp_mm(x, x.T)
    >>> float(exact[0, 0]), exact.bits, xl.mp_mm(x, x.T, precision=8).tolist()
    (0.05, 202, [[Fraction(205, 4096)]])
    """
    agree_where_arrays(a=a, b=b)
    wanted = None if precision is None else computed_precision(precision)
    left, right = _read(a, "a"), _read(b, "b")
    if isinstance(left, Source) and isinstance(right, Source):
        like = left if is_array(a) else right
        # lists are read as arrays of NumPy, and go with any
        left, right = (x if is_array(given) else _beside(x, like) for given, x in ((a, left), (b, right)))
        words, info = _of_components(left, right, wanted)
        found = like.library.from_host(words, FLOAT64, like)
    else:
        found, info = _of_limbs(left, right, wanted)
    return (found, info) if return_info else found


def _read(array: Any, name: str) -> MPArray | Source:
    """An operand: numbers of limbs, or an array that may hold components."""
    if isinstance(array, MPArray):
        return array
    source = read(array, name)
    if len(source.shape) < 2:
        raise TypeError(f"{name} is neither an MPArray nor an array of float64 components along its last axis")
    return source


def _beside(numbers: Source, other: Source) -> Source:
    """The same numbers of the host in an array like another one, where that is on a device."""
    if other.device_kind == HOST or numbers.format != FLOAT64:
        return numbers
    words = numbers.library.host_encodings(numbers)
    return read(other.library.from_host(words, FLOAT64, other), "the list")


def _of_components(left: Source, right: Source, precision: int | None) -> tuple[Words, Info]:
    """The encodings of the components of a product, and an account."""
    direct = component_products.product(left, right) if precision is None else None
    if direct is not None:
        return direct
    product, info = _of_limbs(left, right, precision)
    return product._component_words(max(x.shape[-1] for x in (left, right))), info


def _of_limbs(left: MPArray | Source, right: MPArray | Source, precision: int | None) -> tuple[MPArray, Info]:
    """The product by way of limbs, and an account."""
    sides = [x if isinstance(x, MPArray) else MPArray._of_components(x) for x in (left, right)]
    return multiplied(sides[0], sides[1], precision)


def multiplied(left: MPArray, right: MPArray, precision: int | None) -> tuple[MPArray, Info]:
    """The product of two arrays of one or two axes, exact or rounded to so many bits, and an account.

    Raises
    ------
    ValueError
        Shapes do not fit, or devices differ.
    """
    rows = left if left.ndim == 2 else left.reshape(1, -1)
    columns = right.T if right.ndim == 2 else right.reshape(1, -1)
    if not {left.ndim, right.ndim} <= {1, 2} or rows.shape[1] != columns.shape[1]:
        raise ValueError(f"a has shape {left.shape} and b has shape {right.shape}; they do not multiply")
    check_one_device(left, "a", right, "b")
    with left._scope():
        work = Multiplication(verbs_for(kind_of(left.limbs)), left._verbs)
        limbs, info = work.product(rows.limbs, columns.limbs, precision)
    product = MPArray._of(limbs, left.exponent + right.exponent)
    return product.reshape(*left.shape[:-1], *right.shape[1:]), info
