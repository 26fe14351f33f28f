"""What calls of multiple precision share: their backend, their memory, and the precisions that they take."""

from typing import Any

from exactla import registry, settings
from exactla.backend import Multiprecision
from exactla.core.planning import FREE_SHARE
from exactla.multiprecision import limits

MOST_PRECISION = 1 << 18
"""Bits of an entry."""


def checked_precision(precision: Any) -> int:
    """The precision of a product or a factorization, or the error that says what is wrong with it."""
    bits = limits.checked_precision(precision)
    if bits > MOST_PRECISION:
        raise ValueError(f"a precision is of {MOST_PRECISION} bits at most, got {bits}")
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
