"""The conformance suite: frozen cases, an exact oracle, and the digests that every backend must give.

`run` checks a backend, `compare` two recorded runs, `update` freezes digests. The names are loaded when first asked
for, so that the pytest plugin costs nothing where it is not used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exactla_conformance.report import Comparison, ConformanceError, Report
    from exactla_conformance.runner import compare, run, update

__all__ = ["Comparison", "ConformanceError", "Report", "compare", "run", "update"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from exactla_conformance import report, runner

    return getattr(report if hasattr(report, name) else runner, name)
