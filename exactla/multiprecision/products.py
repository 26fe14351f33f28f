"""Products of multiple-precision matrices: exact, or rounded once per entry."""

from typing import Any

import numpy as np

from exactla import settings
from exactla.backend import Multiprecision
from exactla.core.limbs import LIMB, Limbs
from exactla.core.planning import Arithmetic, arithmetic, sum_bits
from exactla.errors import WorkspaceError
from exactla.multiprecision.calls import allowed_bytes, checked_precision, verbs_in_use
from exactla.multiprecision.mparray import MPArray
from exactla.results import Info

MOST_WORK = 1 << 38
"""Products of octets in a block, after which a call can be interrupted."""


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
        ``a @ b``. The product of two arrays of d components has d components, each the nearest float64 to what those
        before it leave of the exact sum, which is rounded to `precision` bits first where that is asked for.
    Info
        Only with `return_info`.

    Raises
    ------
    TypeError, ValueError
        An operand is of another type; shapes do not fit; components overlap.
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
    left, right = _read(a, "a"), _read(b, "b")
    matrices = [left if left.ndim == 2 else left.reshape(1, -1), right if right.ndim == 2 else right.reshape(-1, 1)]
    if left.ndim not in (1, 2) or right.ndim not in (1, 2) or matrices[0].shape[1] != matrices[1].shape[0]:
        raise ValueError(f"a has shape {left.shape} and b has shape {right.shape}; they do not multiply")
    wanted = None if precision is None else checked_precision(precision)
    product, info = _product(matrices[0], matrices[1], wanted)
    shape = (*left.shape[:-1], *right.shape[1:])
    found: Any = product.reshape(shape)
    if not isinstance(a, MPArray) and not isinstance(b, MPArray):
        found = found.to_components(max(np.shape(a)[-1], np.shape(b)[-1]))
    return (found, info) if return_info else found


def _read(array: Any, name: str) -> MPArray:
    if isinstance(array, MPArray):
        return array
    if np.ndim(array) < 2:
        raise TypeError(f"{name} is neither an MPArray nor an array of float64 components along its last axis")
    return MPArray.from_components(array)


def _product(left: MPArray, right: MPArray, precision: int | None) -> tuple[MPArray, Info]:
    verbs = verbs_in_use()
    rows, depth = left.shape
    columns = right.shape[1]
    bits = sum_bits(left.bits, right.bits, depth) + 1
    plan = arithmetic(verbs, bits, settings.forced_engine.get())
    count = (bits + 2) // LIMB + 1
    found = np.zeros((rows, columns, count), np.uint64)
    step, needed = _rows_at_a_time(verbs, (rows, columns, depth), plan)
    turned = verbs.upload(right.T.limbs)
    for start in range(0, rows, step):
        block = slice(start, start + step)
        found[block] = _block(verbs, left.limbs[block], turned, (count, precision), plan)
        report = settings.progress_callback.get()
        if report is not None:
            report(min(start + step, rows), rows)
    info = Info(
        backend=verbs.name,
        engine=plan.engine.name,
        moduli=len(plan.base.moduli),
        bits=bits,
        capacity=plan.base.capacity,
        passes=-(-rows // step),
        lossless=True,
        host_syncs=-(-rows // step),
        workspace_bytes=needed,
    )
    return MPArray._of(found, left.exponent + right.exponent), info


def _block(verbs: Multiprecision, left: Limbs, right: Any, form: tuple[int, int | None], plan: Arithmetic) -> Limbs:
    count, precision = form
    product = verbs.product(verbs.upload(left), right, count, plan.base, plan.engine)
    if precision is not None:
        product = verbs.round_leading(product, precision)
    return verbs.download(product)


def _rows_at_a_time(verbs: Multiprecision, shape: tuple[int, int, int], plan: Arithmetic) -> tuple[int, int]:
    """Rows of a block, and the workspace that it takes."""
    rows, columns, depth = shape
    base, engine = plan.base, plan.engine
    allowed = allowed_bytes()
    per_row = columns * depth * 4 * len(base.moduli) + 1
    step = max(1, min(rows, MOST_WORK // per_row))
    while step > 1 and verbs.product_bytes(step, columns, depth, base, engine) > allowed:
        step = (step + 1) // 2
    needed = verbs.product_bytes(step, columns, depth, base, engine)
    if needed > allowed:
        raise WorkspaceError(needed, allowed)
    return step, needed
