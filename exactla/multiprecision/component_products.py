"""Products of matrices of float64 components by a backend that makes residues of them without limbs in between."""

from typing import Any

import numpy as np

from exactla import settings
from exactla.backend import ComponentProducts
from exactla.core.expansions import Words
from exactla.core.moduli import ResidueBase
from exactla.core.planning import arithmetic, sum_bits
from exactla.errors import WorkspaceError
from exactla.formats import FLOAT64
from exactla.libraries.base import Source
from exactla.multiprecision.conversions import COMPONENTS
from exactla.multiprecision.multiplying import blocks_of_rows, rows_at_a_time, wanted_moduli
from exactla.multiprecision.places import HOST, verbs_for
from exactla.results import Info


def product(left: Source, right: Source) -> tuple[Words, Info] | None:
    """Encodings of components of left @ right, and an account; None for the general path, which tells faults, too."""
    if not (_is_taken(left) and _is_taken(right)) or 0 in (*left.shape, *right.shape):
        return None
    verbs = verbs_for(HOST)
    direct = verbs.component_products
    rows, depth, count = left.shape
    other_depth, columns, more = right.shape
    if direct is None or depth != other_depth or (settings.slice_count.get() or 0) > 1:
        return None
    a, b = direct.scan(_words(left)), direct.scan(_words(right).swapaxes(0, 1))
    if a is None or b is None:
        return None
    bits = sum_bits(a.bits, b.bits, depth) + 1
    plan = arithmetic(verbs, bits, settings.forced_engine.get(), wanted_moduli())
    if not direct.takes(plan.engine, bits):
        return None
    try:
        step, needed = rows_at_a_time(verbs, (rows, columns, depth), plan)
    except WorkspaceError:
        return None
    found = np.empty((rows, columns, max(count, more)), np.uint64)
    if not _fill(found, direct, (a, b), plan.base, step):
        return None
    info = Info(
        backend=verbs.name,
        engine=plan.engine.name,
        moduli=len(plan.base.moduli),
        bits=bits,
        capacity=plan.base.capacity,
        passes=-(-rows // step),
        lossless=True,
        host_syncs=2,
        workspace_bytes=needed,
    )
    return found, info


def _is_taken(source: Source) -> bool:
    return (
        source.device_kind == HOST
        and source.format == FLOAT64
        and not source.complex
        and len(source.shape) == 3
        and source.shape[-1] in COMPONENTS
    )


def _words(source: Source) -> Words:
    return source.library.host_encodings(source)


def _fill(found: Words, direct: ComponentProducts, numbers: tuple[Any, Any], base: ResidueBase, step: int) -> bool:
    """Make the results, unless components overlap or become infinite."""
    left, right = numbers
    columns = direct.right_residues(right, base)
    if columns is None:
        return False
    for block in blocks_of_rows(len(found), step):
        part = left.rows(block)
        rows = direct.left_residues(part, base)
        if rows is None or not direct.product((part, right), (rows, columns), base, found[block]):
            return False
    return True
