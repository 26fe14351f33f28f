"""Products from scan to rounding: real and complex operands, finite or not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from exactla.backend import Backend, Buffer, Operand, Scanned
from exactla.core.contraction import Contraction, Conversion, Pairing, PlainSide, Terms
from exactla.core.evaluation import Output, evaluate, plan
from exactla.core.nonfinite import special_contraction
from exactla.core.planning import Arithmetic, Tiling, arithmetic, sum_bits
from exactla.core.settling import settling
from exactla.core.truncation import truncation
from exactla.errors import OperandChangedError
from exactla.formats import FloatFormat
from exactla.results import Rounding

STEADY_BITS = 16
"""Bits are rounded up to a multiple where an operand is kept, so that its residues serve partners of like exponents."""


class Options(NamedTuple):
    """What the calling context asks for."""

    engine: str | None = None
    checks: bool = True
    workspace: int | None = None
    progress: Callable[[int, int], object] | None = None


@dataclass(frozen=True)
class Work:
    """How a product was computed."""

    arithmetic: Arithmetic
    tiling: Tiling
    host_syncs: int


class NonFinite(Exception):
    """Some operand has entries that are not finite; the caller knows their names and finds the first."""


def product_groups(left_parts: int, right_parts: int) -> list[Terms]:
    """The sums that make the result's parts: real only, or real and imaginary where an operand has both."""
    if (left_parts, right_parts) == (1, 1):
        return [((1, 0, 0),)]
    if left_parts == right_parts:
        return [((1, 0, 0), (-1, 1, 1)), ((1, 0, 1), (1, 1, 0))]
    return [((1, 0, 0),), ((1, 1, 0),) if left_parts == 2 else ((1, 0, 1),)]


def rounded_product(
    backend: Backend,
    left: Sequence[Operand],
    right: Sequence[Operand],
    pairing: Pairing,
    format: FloatFormat,
    roundings: tuple[Rounding, ...],
    *,
    propagate: bool,
    options: Options,
    conversions: tuple[Conversion | None, Conversion | None] = (None, None),
) -> tuple[list[Buffer], Work]:
    """Encodings of left @ right.T, rounded once in each direction; for complex operands of both parts in turn.

    Raises
    ------
    NonFinite
        Not `propagate`, and an operand has a NaN or an infinity.
    OperandChangedError
        An operand was written to between its scan and its conversion.
    """
    a, b, syncs = _scan(backend, left, right, conversions)
    if not (a.finite and b.finite) and not propagate:
        raise NonFinite
    groups = product_groups(len(left), len(right))
    terms = max(map(len, groups)) * left[0].shape[2]
    bits = sum_bits(a.bits, b.bits, terms)
    if any(conversions):
        bits = -(-bits // STEADY_BITS) * STEADY_BITS
    left_side = PlainSide(backend, a.operands, conversions[0])
    contraction = Contraction(
        backend,
        left_side,
        left_side if right is left else PlainSide(backend, b.operands, conversions[1]),
        pairing,
        groups,
        arithmetic(backend, bits, options.engine),
    )
    special = None
    if not (a.finite and b.finite):
        special = special_contraction(backend, a.operands, b.operands, pairing, groups, options.engine)
    outputs = [Output(((1, number),), roundings) for number in range(len(groups))]
    if special is None and not any(conversions):
        wide = max(a.bits, b.bits) > backend.leading_bits
        found, more = (_truncated if wide else _settled)(contraction, a, b, outputs, format, options)
        syncs += more
        if found is not None:
            return found[0], replace(found[1], host_syncs=syncs)
    tiling = plan(contraction, options.workspace, beside=special)
    results = evaluate(contraction, outputs, format, tiling, special=special, progress=options.progress)
    try:
        syncs += check_operands(backend, contraction, options)
    except OperandChangedError:
        for kept in filter(None, conversions):
            kept.clear()
        raise
    return results, Work(contraction.arithmetic, tiling, syncs)


def _truncated(
    exact: Contraction, a: Scanned, b: Scanned, outputs: Sequence[Output], format: FloatFormat, options: Options
) -> tuple[tuple[list[Buffer], Work] | None, int]:
    """The product by `core.truncation`, where that is cheaper, and the host synchronisations that it took."""
    backend = exact.backend
    plan_of = truncation(
        exact, a.operands, b.operands, outputs, format, engine=options.engine, workspace=options.workspace
    )
    if plan_of is None:
        return None, 0
    tiling = plan(exact, options.workspace, beside=plan_of.leading)
    results, syncs = plan_of.evaluate(tiling, options.progress)
    syncs += check_operands(backend, plan_of.leading, options, exact.counts)
    return (results, Work(plan_of.leading.arithmetic, tiling, syncs)), syncs


def _settled(
    exact: Contraction, a: Scanned, b: Scanned, outputs: Sequence[Output], format: FloatFormat, options: Options
) -> tuple[tuple[list[Buffer], Work] | None, int]:
    """The product by `core.settling`, where that is cheaper and leaves nothing; and the host synchronisations."""
    backend = exact.backend
    plan_of = settling(exact, a, b, format, engine=options.engine)
    if plan_of is None:
        return None, 0
    tiling = plan(plan_of.leading, options.workspace)
    results = plan_of.evaluate(outputs, format, tiling, options.progress)
    # both kinds of counts are 0 nearly always: one transfer tells that
    checked = plan_of.leading.counts if options.checks else []
    if backend.total([*checked, *plan_of.left_over]):
        return None, 1 + check_operands(backend, plan_of.leading, options)
    return (results, Work(plan_of.leading.arithmetic, tiling, 1)), 1


def _scan(
    backend: Backend,
    left: Sequence[Operand],
    right: Sequence[Operand],
    conversions: tuple[Conversion | None, Conversion | None],
) -> tuple[Scanned, Scanned, int]:
    """Both sides scanned, except where a conversion has that already; and the host synchronisations it took."""
    sides = [left] if right is left else [left, right]
    known = [None if kept is None else kept.scanned for kept in conversions[: len(sides)]]
    wanted = [side for side, scanned in zip(sides, known, strict=True) if scanned is None]
    found = iter(backend.scan(wanted) if wanted else [])
    scanned = [next(found) if s is None else s for s in known]
    for kept, result in zip(conversions, scanned, strict=False):
        if kept is not None:
            kept.scanned = result
    return scanned[0], scanned[-1], int(bool(wanted))


def exact_product(
    backend: Backend, left: Operand, right: Operand, pairing: Pairing, options: Options
) -> tuple["np.ndarray[tuple[int, ...], np.dtype[np.generic]]", Work]:
    """left @ right.T of integer operands, on the host, [T, R, C]: int64 where all fit, else Python integers.

    Rows of integers have exponent 0, so that the sums of the contraction are the entries.
    """
    a, b = backend.scan([(left,), (right,)])
    contraction = Contraction(
        backend,
        PlainSide(backend, a.operands),
        PlainSide(backend, b.operands),
        pairing,
        [((1, 0, 0),)],
        arithmetic(backend, sum_bits(a.bits, b.bits, left.shape[2]), options.engine),
    )
    tiling = plan(contraction, options.workspace)
    result = np.empty(tiling.shape, np.int64)
    passes = tiling.passes
    for done, block in enumerate(tiling.blocks(), 1):
        part = backend.integers(contraction.planes(block, tiling)[0], contraction.arithmetic.base)
        if part.dtype != result.dtype and result.dtype != np.dtype(object):
            result = result.astype(object)
        result[block.pairs, block.rows, block.columns] = part
        if options.progress is not None:
            options.progress(done, passes)
    syncs = 1 + passes + check_operands(backend, contraction, options)
    return result, Work(contraction.arithmetic, tiling, syncs)


def check_operands(backend: Backend, contraction: Contraction, options: Options, others: Sequence[Buffer] = ()) -> int:
    """The second check of the operands, that they fitted their scan; returns the host synchronisations it took."""
    if not options.checks:
        return 0
    changed = backend.total([*contraction.counts, *others])
    if changed:
        raise OperandChangedError(
            f"{changed} entries of the operands changed during the call; was another thread writing to them?"
        )
    return 1
