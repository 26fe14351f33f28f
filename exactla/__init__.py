"""Exact and certified linear algebra whose results are the same bytes on every device."""

import importlib
from typing import TYPE_CHECKING, Any

from exactla.digests import BITS_VERSION, digest
from exactla.errors import (
    BackendUnavailable,
    EngineLimitError,
    ExactlaError,
    InconsistentSystemError,
    NonFiniteError,
    OperandChangedError,
    PrecisionError,
    SingularMatrixError,
    WorkspaceError,
)
from exactla.intervals import mm_interval, mm_interval_bounds
from exactla.prepared import Prepared, prepare
from exactla.products import bmm, bmm_enclose, mm, mm_enclose, mm_enclose_nt, mm_exact, mm_nt
from exactla.registry import backends
from exactla.results import Enclosure, Info, Rounding
from exactla.settings import (
    backend,
    engine,
    operand_checks,
    progress,
    set_operand_checks,
    set_workspace_limit,
    slices,
    threads,
    workspace_limit,
)
from exactla.widths import width_ulps

if TYPE_CHECKING:
    from exactla import gallery
    from exactla.factoring import LU, lu_factor
    from exactla.multiprecision.certified import lu_solve
    from exactla.multiprecision.mparray import MPArray
    from exactla.multiprecision.products import mp_mm
    from exactla.rationals import Rational
    from exactla.solving import (
        Factorization,
        GeneralSolution,
        det,
        factor,
        inv,
        nullspace,
        rank,
        solve,
        solve_enclose,
        solve_general,
    )

__version__ = "0.1.0"

__all__ = [
    "BITS_VERSION",
    "LU",
    "BackendUnavailable",
    "Enclosure",
    "EngineLimitError",
    "ExactlaError",
    "Factorization",
    "GeneralSolution",
    "InconsistentSystemError",
    "Info",
    "MPArray",
    "NonFiniteError",
    "OperandChangedError",
    "PrecisionError",
    "Prepared",
    "Rational",
    "Rounding",
    "SingularMatrixError",
    "WorkspaceError",
    "backend",
    "backends",
    "bmm",
    "bmm_enclose",
    "det",
    "digest",
    "engine",
    "factor",
    "gallery",
    "inv",
    "lu_factor",
    "lu_solve",
    "mm",
    "mm_enclose",
    "mm_enclose_nt",
    "mm_exact",
    "mm_interval",
    "mm_interval_bounds",
    "mm_nt",
    "mp_mm",
    "nullspace",
    "operand_checks",
    "prepare",
    "progress",
    "rank",
    "set_operand_checks",
    "set_workspace_limit",
    "slices",
    "solve",
    "solve_enclose",
    "solve_general",
    "threads",
    "width_ulps",
    "workspace_limit",
]

_LATE = {
    "exactla.factoring": ("LU", "lu_factor"),
    "exactla.multiprecision.certified": ("lu_solve",),
    "exactla.multiprecision.products": ("mp_mm",),
    "exactla.multiprecision.mparray": ("MPArray",),
    "exactla.rationals": ("Rational",),
    "exactla.solving": (
        *("Factorization", "GeneralSolution", "det", "factor", "inv", "nullspace", "rank"),
        *("solve", "solve_enclose", "solve_general"),
    ),
}
"""Names that need gmpy2, which products do without: they are imported when they are first asked for."""


def __getattr__(name: str) -> Any:
    if name == "gallery":
        return importlib.import_module("exactla.gallery")
    for module, names in _LATE.items():
        if name in names:
            found = globals()[name] = getattr(importlib.import_module(module), name)
            return found
    raise AttributeError(f"module 'exactla' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
