"""What calls of multiple precision share: their backend, their memory, and the precisions that they take."""

import operator
from typing import Any

from exactla import registry, settings
from exactla.backend import Multiprecision
from exactla.core.planning import FREE_SHARE

LEAST_PRECISION, MOST_PRECISION = 2, 1 << 18


def checked_precision(precision: Any) -> int:
    """A number of bits."""
    bits = operator.index(precision)
    if not LEAST_PRECISION <= bits <= MOST_PRECISION:
        raise ValueError(f"the precision is from {LEAST_PRECISION} to {MOST_PRECISION} bits, got {bits}")
    return bits


def verbs_in_use() -> Multiprecision:
    """Those of the backend that the context forces, or of the preferred one."""
    forced = settings.forced_backend.get()
    return (registry.default("cpu") if forced is None else registry.load(forced)).multiprecision


def allowed_bytes() -> int:
    """Bytes that may be taken."""
    limit = settings.workspace_bytes.get()
    if limit is not None:
        return limit
    return registry.default("cpu").free_bytes() * (FREE_SHARE - 1) // FREE_SHARE
