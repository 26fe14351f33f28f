"""Limits: precisions that are asked for, and room for arrays of limbs, refused before they are made."""

from typing import Any

from exactla.arguments import integer
from exactla.core.dyadics import LEAST_PRECISION
from exactla.core.limbs import OCTETS
from exactla.errors import WorkspaceError
from exactla.settings import workspace_bytes

SMALL = 1 << 26
"""Bytes that nobody asks about."""


def check_room(entries: int, limbs: int) -> None:
    """Refuse an array of so many entries and limbs that is beyond the workspace limit, or the free memory.

    Raises
    ------
    WorkspaceError
        It is; with the bytes of both.
    """
    needed, limit = entries * limbs * OCTETS, workspace_bytes.get()
    if limit is None and needed <= SMALL:
        return
    allowed = _free_bytes() if limit is None else limit
    if needed > allowed:
        raise WorkspaceError(
            needed, allowed, f"{entries:,} entries of {limbs:,} limbs, which share one exponent and so one width, need"
        )


def _free_bytes() -> int:
    from exactla import registry

    return registry.load("numpy").free_bytes()


def checked_precision(precision: Any) -> int:
    """A precision as an integer, or the error that says what is wrong with it."""
    bits = integer(precision, "a precision in bits")
    if bits < LEAST_PRECISION:
        raise ValueError(f"a precision is of {LEAST_PRECISION} bits or more, got {bits}")
    return bits
