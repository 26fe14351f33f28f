"""Products of interval matrices, given by midpoints and radii or by their ends."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from exactla import calls
from exactla.arrays import Source
from exactla.backend import Backend, Operand
from exactla.core.interval import IntervalMethod, interval_product
from exactla.core.matmul import NonFinite
from exactla.errors import OperandChangedError
from exactla.results import Enclosure, Info
from exactla.shapes import matmul_layout


def mm_interval(
    a_mid: Any,
    a_rad: Any,
    b_mid: Any,
    b_rad: Any,
    *,
    method: str = "sharp",
    dtype: Any = None,
    return_info: bool = False,
) -> Any:
    """Enclose the product of two interval matrices given by midpoints and radii.

    Parameters
    ----------
    a_mid, a_rad : array, shape (..., M, K) or (K,)
        The matrix of intervals [a_mid - a_rad, a_mid + a_rad], taken exactly. Real, as in `mm_enclose`.
    b_mid, b_rad : array, shape (..., K, N) or (K,)
        The other matrix, of the same library on the same device.
    method : {"sharp", "rump", "hull"}
        The bound. "rump" is Rump's midpoint-radius bound. "sharp" is never wider, and the exact hull except in
        entries where two intervals meet that both have zero inside, and not as their midpoint. "hull" is the exact
        hull, at a cost that grows with the number of such meetings.
    dtype : dtype, optional
        Floating-point type of the result, by default the operands' common type.
    return_info : bool
        Whether to return an `Info` too, whose `hull` marks the entries that are proven to be the exact hull.

    Returns
    -------
    Enclosure
        ``(lo, hi)``: each end of the bound, an exact rational, rounded outward once.
    Info
        Only with `return_info`.

    Raises
    ------
    NonFiniteError
        An operand has a NaN or an infinity.
    ValueError
        A radius is negative (the message names the first), shapes do not fit, or the method is unknown.
    TypeError
        An operand is of an unsupported type, or complex.

    Notes
    -----
    With exact integers m = lo + hi, r = hi - lo and rho = sign(m) min(|m|, r) of each interval, four times the ends
    are C - S + P + Q and C + S + P - Q for the matrix products C = m_a m_b, S = |m_a| r_b + r_a (|m_b| + r_b),
    P = rho_a rho_b, Q = |rho_a| |rho_b| ("sharp"), and C - S and C + S for "rump" (Rump 1999, BIT 39, 539-560).

    Examples
    --------
    >>> import exactla as xl
    >>> xl.mm_interval([[1.0]], [[1.0]], [[2.0]], [[1.0]])
    Enclosure(lo=array([[0.]]), hi=array([[6.]]))
    >>> xl.mm_interval([[1.0]], [[1.0]], [[2.0]], [[1.0]], method="rump").lo
    array([[-2.]])
    """
    operands = calls.read_operands((a_mid, "a_mid"), (a_rad, "a_rad"), (b_mid, "b_mid"), (b_rad, "b_rad"))
    return _product(operands, False, method, dtype, return_info)


def mm_interval_bounds(
    a_lo: Any,
    a_hi: Any,
    b_lo: Any,
    b_hi: Any,
    *,
    method: str = "sharp",
    dtype: Any = None,
    return_info: bool = False,
) -> Any:
    """Enclose the product of two interval matrices given by their ends; else as `mm_interval`.

    Parameters
    ----------
    a_lo, a_hi : array, shape (..., M, K) or (K,)
        The matrix of intervals [a_lo, a_hi].
    b_lo, b_hi : array, shape (..., K, N) or (K,)
        The other matrix.
    method, dtype, return_info
        As in `mm_interval`.

    Returns
    -------
    Enclosure, or Enclosure and Info
        As from `mm_interval`.

    Raises
    ------
    ValueError
        An interval has lo > hi (the message names the first); else as from `mm_interval`.

    Examples
    --------
    >>> import exactla as xl
    >>> xl.mm_interval_bounds([[-1.0]], [[2.0]], [[-3.0]], [[4.0]], method="hull")
    Enclosure(lo=array([[-6.]]), hi=array([[8.]]))
    """
    operands = calls.read_operands((a_lo, "a_lo"), (a_hi, "a_hi"), (b_lo, "b_lo"), (b_hi, "b_hi"))
    return _product(operands, True, method, dtype, return_info)


def _product(
    operands: Sequence[Source], endpoints: bool, method: str, dtype: Any, return_info: bool
) -> Enclosure | tuple[Enclosure, Info]:
    try:
        kind = IntervalMethod(method)
    except ValueError:
        raise ValueError(f"method={method!r} is unknown; it may be {', '.join(IntervalMethod)}") from None
    _check(operands)
    a, _, b, _ = operands
    layout = matmul_layout(a.shape, b.shape, transposed=False, names=(a.name, b.name))
    format = calls.result_format(operands, dtype)
    backend = calls.backend_for(a)
    with backend.scope(a):
        left = _side(backend, operands[:2], transpose=False)
        right = _side(backend, operands[2:], transpose=True)
        pairing = layout.pairing(left[0].shape[0], right[0].shape[0])
        try:
            product = interval_product(
                backend, left, right, pairing, format, kind, endpoints=endpoints, options=calls.options()
            )
        except NonFinite:
            raise calls.nonfinite_error(backend, operands) from None
        # without a result no block has looked at the operands
        if product.invalid or 0 in layout.result:
            _refuse_invalid(backend, operands, endpoints)
        if product.invalid:
            raise OperandChangedError("an interval was found to be invalid and then not")
        lo, hi = (backend.restore([end], format, layout.shape, a) for end in (product.lo, product.hi))
    enclosure = Enclosure(lo, hi)
    if not return_info:
        return enclosure
    hull = a.library.from_host_integers(product.hull.reshape(layout.shape), a)
    return enclosure, calls.info(backend, product.work, hull)


def _check(operands: Sequence[Source]) -> None:
    for source in operands:
        if source.complex:
            raise TypeError(f"{source.name} is complex; intervals are real")
    for first, second in (operands[:2], operands[2:]):
        if first.shape != second.shape:
            raise ValueError(
                f"{first.name} has shape {first.shape} and {second.name} has shape {second.shape}; they must be equal"
            )


def _side(backend: Backend, operands: Sequence[Source], *, transpose: bool) -> tuple[Operand, Operand]:
    first, second = (calls.parts(backend, x, transpose=transpose)[0] for x in operands)
    stacks = max(first.shape[0], second.shape[0])
    # a view gives a repeated matrix once, whatever its partner is
    first, second = (x if x.shape[0] == stacks else backend.repeat(x, stacks) for x in (first, second))
    return first, second


def _refuse_invalid(backend: Backend, operands: Sequence[Source], endpoints: bool) -> None:
    """Raise for the first interval whose ends are in the wrong order, if there is one."""
    for first, second in (operands[:2], operands[2:]):
        sides = _side(backend, (first, second), transpose=False)
        position = backend.first_invalid_interval(*sides, endpoints=endpoints)
        if position >= 0:
            where = ", ".join(str(int(i)) for i in np.unravel_index(position, first.shape))
            if endpoints:
                raise ValueError(f"{first.name}[{where}] is larger than {second.name}[{where}]")
            raise ValueError(f"{second.name}[{where}] is negative, and a radius must not be")
