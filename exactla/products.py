"""Products of matrices: enclosed, correctly rounded, or exact."""

from typing import Any, Literal

import numpy as np

from exactla import calls
from exactla.arrays import Source
from exactla.backend import Backend
from exactla.core.contraction import Conversion
from exactla.core.matmul import NonFinite, exact_product, rounded_product
from exactla.formats import BigIntegerFormat, IntegerFormat
from exactla.results import Enclosure, Info, Rounding
from exactla.shapes import Form, check_form, matmul_layout

NonFinitePolicy = Literal["raise", "propagate"]
ENDS = (Rounding.DOWN, Rounding.UP)
Operands = tuple[tuple[Any, str], ...]
"""Arguments with their names; one alone is both operands of a Gram matrix."""


def mm_enclose(
    a: Any,
    b: Any = None,
    /,
    *,
    dtype: Any = None,
    nonfinite: NonFinitePolicy = "raise",
    return_info: bool = False,
) -> Any:
    """Enclose a matrix product: the tightest pair of floating-point arrays around ``a @ b``.

    Parameters
    ----------
    a : array, shape (..., M, K) or (K,)
        Floating-point, complex, integer or bool array of a supported library, or a nested list of numbers. Every
        finite entry is taken as the exact number that it is.
    b : array, shape (..., K, N) or (K,), optional
        As `a`, of the same library on the same device. Vectors, stacks and broadcasting are as in `numpy.matmul`.
        Without `b` the Gram matrix ``a @ a.T`` is enclosed.
    dtype : dtype, optional
        Floating-point type of the result, by default the operands' common type: the narrowest that holds every value
        of each, float64 where none does and for integers alone.
    nonfinite : {"raise", "propagate"}
        What NaN and infinities do: raise `NonFiniteError`, or follow IEEE 754 in each entry of the result.
    return_info : bool
        Whether to return an `Info` too.

    Returns
    -------
    Enclosure
        ``(lo, hi)``, of the library and on the device of the operands.
    Info
        Only with `return_info`.

    Raises
    ------
    NonFiniteError
        An operand has a NaN or an infinity and `nonfinite` is "raise"; the message names the first.
    TypeError
        An operand is of an unsupported or of another library or type, or `dtype` is not a floating-point type.
    ValueError
        Shapes do not fit, or devices differ.
    WorkspaceError
        Not even one entry at a time fits the workspace limit.

    Notes
    -----
    With S = sum over k of a[i, k] * b[k, j], an exact rational: lo[i, j] is the largest value of the format at most S,
    and hi[i, j] the smallest at least S, so that lo[i, j] <= S <= hi[i, j] with equality where S is representable.
    Beyond the largest finite value the outward end is infinite, or NaN in a format without infinities. An exact zero
    is +0 in both ends. Parts of complex products are enclosed each by themselves.

    The sums are computed in residues modulo coprime numbers (Ozaki, Uchino and Imamura 2025, arXiv:2504.08009) and
    rounded once, as the exact dot product of Kulisch and Miranker (1986) is.

    Examples
    --------
    >>> import numpy as np
    >>> import exactla as xl
    >>> a = np.array([[1e16, 1.0, -1e16]])
    >>> xl.mm_enclose(a, np.ones((3, 1)))
    Enclosure(lo=array([[1.]]), hi=array([[1.]]))
    >>> lo, hi = xl.mm_enclose(np.array([[0.1]]), np.array([[0.1]]))
    >>> int(xl.width_ulps(lo, hi)[0, 0])
    1
    """
    if b is None:
        return _enclose(((a, "a"),), "gram", dtype, nonfinite, return_info)
    return _enclose(((a, "a"), (b, "b")), "nn", dtype, nonfinite, return_info)


def mm_enclose_nt(
    a: Any, bt: Any, *, dtype: Any = None, nonfinite: NonFinitePolicy = "raise", return_info: bool = False
) -> Any:
    """Enclose ``a @ bt.T`` (of the last two axes) without a transposed copy; else as `mm_enclose`.

    Parameters
    ----------
    a : array, shape (..., M, K) or (K,)
    bt : array, shape (..., N, K) or (K,)
    dtype, nonfinite, return_info
        As in `mm_enclose`.

    Returns
    -------
    Enclosure, or Enclosure and Info
        As from `mm_enclose`: the same bytes as for ``mm_enclose(a, bt.T)``.
    """
    return _enclose(((a, "a"), (bt, "bt")), "nt", dtype, nonfinite, return_info)


def bmm_enclose(
    a3: Any, b3: Any, *, dtype: Any = None, nonfinite: NonFinitePolicy = "raise", return_info: bool = False
) -> Any:
    """Enclose the products of two stacks of equal length, which share one plan; else as `mm_enclose`.

    Parameters
    ----------
    a3 : array, shape (batch, M, K)
    b3 : array, shape (batch, K, N)
    dtype, nonfinite, return_info
        As in `mm_enclose`.

    Returns
    -------
    Enclosure, or Enclosure and Info
        As from `mm_enclose`; no member of the batch influences another's bytes.
    """
    return _enclose(((a3, "a3"), (b3, "b3")), "batched", dtype, nonfinite, return_info)


def mm(
    a: Any,
    b: Any,
    *,
    rounding: str = "nearest",
    dtype: Any = None,
    nonfinite: NonFinitePolicy = "raise",
    return_info: bool = False,
) -> Any:
    """The matrix product ``a @ b``, every entry the exact value rounded once.

    Parameters
    ----------
    a, b, dtype, nonfinite, return_info
        As in `mm_enclose`.
    rounding : {"nearest", "down", "up", "zero"}
        Direction of the rounding; "nearest" takes ties to even and overflows as IEEE 754 has it, "zero" saturates.

    Returns
    -------
    array, or array and Info
        Of the library and on the device of the operands. A non-zero value rounded to zero keeps its sign, an exact
        zero is +0.

    Raises
    ------
    NonFiniteError, TypeError, ValueError, WorkspaceError
        As from `mm_enclose`; ValueError also for an unknown rounding.

    Examples
    --------
    >>> import numpy as np
    >>> import exactla as xl
    >>> row = np.array([1.0, 2.0**-53])
    >>> [float(xl.mm(row, np.ones(2), rounding=r)).hex() for r in ("nearest", "up")]
    ['0x1.0000000000000p+0', '0x1.0000000000001p+0']
    """
    return _rounded(((a, "a"), (b, "b")), "nn", rounding, dtype, nonfinite, return_info)


def mm_nt(
    a: Any,
    bt: Any,
    *,
    rounding: str = "nearest",
    dtype: Any = None,
    nonfinite: NonFinitePolicy = "raise",
    return_info: bool = False,
) -> Any:
    """The correctly rounded ``a @ bt.T`` (of the last two axes), without a transposed copy; else as `mm`."""
    return _rounded(((a, "a"), (bt, "bt")), "nt", rounding, dtype, nonfinite, return_info)


def bmm(
    a3: Any,
    b3: Any,
    *,
    rounding: str = "nearest",
    dtype: Any = None,
    nonfinite: NonFinitePolicy = "raise",
    return_info: bool = False,
) -> Any:
    """The correctly rounded products of two stacks (batch, M, K) and (batch, K, N); else as `mm`."""
    return _rounded(((a3, "a3"), (b3, "b3")), "batched", rounding, dtype, nonfinite, return_info)


def mm_exact(a: Any, b: Any, *, return_info: bool = False) -> Any:
    """The exact product of integer matrices.

    Parameters
    ----------
    a : array of integers, shape (..., M, K) or (K,)
        Integers of any width, bool (0 and 1), or an object array of Python integers, gmpy2.mpz or NumPy integers.
    b : array of integers, shape (..., K, N) or (K,)
        As `a`, of the same library. Vectors, stacks and broadcasting are as in `numpy.matmul`.
    return_info : bool
        Whether to return an `Info` too.

    Returns
    -------
    array
        int64 where every entry of the product fits, else an object array of Python integers (NumPy).
    Info
        Only with `return_info`.

    Raises
    ------
    TypeError
        An operand is not of integers.
    OverflowError
        An entry needs more than 64 bits and the library has no wider integers: the message says how many.

    Notes
    -----
    result[i, j] = sum over k of a[i, k] * b[k, j], as integers.

    Examples
    --------
    >>> import numpy as np
    >>> import exactla as xl
    >>> xl.mm_exact(np.array([[2**62]]), np.array([[4]]))
    array([[18446744073709551616]], dtype=object)
    """
    a, b = calls.read_operands((a, "a"), (b, "b"))
    for source in (a, b):
        if not isinstance(source.format, (IntegerFormat, BigIntegerFormat)) or source.complex:
            raise TypeError(f"{source.name} holds {source.format} entries; mm_exact takes integers, mm takes floats")
    layout = matmul_layout(a.shape, b.shape, transposed=False, names=("a", "b"))
    backend = calls.backend_for(a)
    with backend.scope(a):
        (left,), (right,) = calls.parts(backend, a, transpose=False), calls.parts(backend, b, transpose=True)
        pairing = layout.pairing(left.shape[0], right.shape[0])
        values, work = exact_product(backend, left, right, pairing, calls.options())
    result = _exact_array(values.reshape(layout.shape), a)
    return (result, calls.info(backend, work)) if return_info else result


def _exact_array(values: np.ndarray[Any, Any], like: Source) -> Any:
    if values.dtype == np.dtype(object) and like.library.name != "numpy":
        bits = max(int(v).bit_length() for v in values.flat) + 1
        raise OverflowError(
            f"the product needs integers of {bits} bits and {like.library.name} has 64; pass NumPy arrays, "
            "for which the result is an array of Python integers"
        )
    return like.library.from_host_integers(values, like)


def _enclose(
    operands: Operands, form: Form, dtype: Any, nonfinite: str, return_info: bool
) -> Enclosure | tuple[Enclosure, Info | None]:
    if calls.recording(operands) and not return_info:
        from exactla import torch_operators

        return torch_operators.enclosed(operands, form, dtype, nonfinite)
    (lo, hi), info = product(operands, form, ENDS, dtype, nonfinite, return_info)
    return (Enclosure(lo, hi), info) if return_info else Enclosure(lo, hi)


def _rounded(operands: Operands, form: Form, rounding: str, dtype: Any, nonfinite: str, return_info: bool) -> Any:
    if calls.recording(operands) and not return_info:
        from exactla import torch_operators

        return torch_operators.rounded(operands, form, rounding, dtype, nonfinite)
    try:
        direction = Rounding(rounding)
    except ValueError:
        raise ValueError(f"rounding={rounding!r} is unknown; it may be {', '.join(Rounding)}") from None
    (result,), info = product(operands, form, (direction,), dtype, nonfinite, return_info)
    return (result, info) if return_info else result


def product(
    operands: Operands,
    form: Form,
    roundings: tuple[Rounding, ...],
    dtype: Any,
    nonfinite: str,
    return_info: bool,
) -> tuple[list[Any], Info | None]:
    """An array for each rounding, and the account of them where it is asked for."""
    sources = calls.read_operands(*operands)
    if form in ("gram", "batched"):
        check_form(form, [s.shape for s in sources], [s.name for s in sources])
    if nonfinite not in ("raise", "propagate"):
        raise ValueError(f"nonfinite={nonfinite!r} is unknown; it may be raise or propagate")
    a, b = sources[0], sources[-1]
    transposed = form in ("nt", "gram")
    layout = matmul_layout(a.shape, b.shape, transposed=transposed, names=(a.name, b.name))
    format = calls.result_format(sources, dtype)
    backend = calls.backend_for(a)
    options = calls.options()
    with backend.scope(a):
        prepared = a.prepared is not None or b.prepared is not None
        # a shortcut takes no settings and gives no account
        settings = options.engine or options.workspace or options.progress
        if backend.direct and not (return_info or prepared or settings):
            encodings = backend.direct(a, b, transposed, format, roundings, checks=options.checks)
            if encodings is not None:
                return [backend.restore([x], format, layout.shape, a) for x in encodings], None
        left = calls.parts(backend, a, transpose=False)
        right = left if transposed and b is a else calls.parts(backend, b, transpose=not transposed)
        pairing = layout.pairing(left[0].shape[0], right[0].shape[0])
        kept = _conversion(a, backend, False), _conversion(b, backend, not transposed)
        propagate = nonfinite == "propagate"
        try:
            buffers, work = rounded_product(
                backend,
                left,
                right,
                pairing,
                format,
                roundings,
                propagate=propagate,
                options=options,
                conversions=kept,
            )
        except NonFinite:
            hint = 'pass nonfinite="propagate" for the answers of IEEE 754'
            raise calls.nonfinite_error(backend, sources, hint) from None
        count = len(roundings)  # buffers hold all roundings of the real part, then all of the imaginary one
        results = [backend.restore(buffers[i::count], format, layout.shape, a) for i in range(count)]
    return results, calls.info(backend, work) if return_info else None


def _conversion(source: Source, backend: Backend, transpose: bool) -> Conversion | None:
    """What a prepared operand keeps; None for an array as it is."""
    if source.prepared is None:
        return None
    kept: Conversion = source.prepared.conversion(backend.name, transpose=transpose)
    return kept
