"""Limits: precisions that are asked for, and memory for limbs and their products, refused before it is taken."""

from typing import Any

from exactla.arguments import integer
from exactla.backend import Multiprecision
from exactla.core.dyadics import LEAST_PRECISION, MOST_WRITTEN_BITS
from exactla.core.limbs import OCTETS
from exactla.core.planning import FREE_SHARE
from exactla.errors import WorkspaceError
from exactla.settings import workspace_bytes

SMALL = 1 << 26
"""Bytes that nobody asks about."""

MOST_PRECISION = 1 << 18
"""Bits of an entry of a product or a factor."""


def check_room(entries: int, limbs: int, verbs: Multiprecision | None = None) -> None:
    """Refuse an array of so many entries and limbs that is beyond the workspace limit, or the free memory.

    Parameters
    ----------
    entries, limbs : int
        Of the array.
    verbs : Multiprecision, optional
        Those of the device that it is to be on; the host's by default.

    Raises
    ------
    WorkspaceError
        It is; with the bytes of both.
    """
    what = f"{entries:,} entries of {limbs:,} limbs, which share one exponent and so one width, need"
    _check_bytes(entries * limbs * OCTETS, what, verbs)


def check_written(entries: int, bits: int, what: str) -> None:
    """Refuse numbers that take so many bits each once they are written out, before any is.

    Raises
    ------
    OverflowError
        A number is longer than `MOST_WRITTEN_BITS`.
    WorkspaceError
        All of them are beyond the workspace limit, or the free memory.
    """
    if bits > MOST_WRITTEN_BITS:
        raise OverflowError(
            f"{what} would take {bits:,} bits, and {MOST_WRITTEN_BITS:,} are the most; scaled() brings the exponent "
            "of an MPArray closer to 0"
        )
    _check_bytes(entries * (bits // 8 + 1), f"{what} takes {bits:,} bits, and {entries:,} of them need", None)


def _check_bytes(needed: int, what: str, verbs: Multiprecision | None) -> None:
    """Refuse what needs more bytes than are allowed where these verbs are, on the host without them."""
    limit = workspace_bytes.get()
    if limit is None and needed <= SMALL:
        return
    allowed = limit if limit is not None else (verbs or _of_the_host()).free_bytes()
    if needed > allowed:
        raise WorkspaceError(needed, allowed, what)


def _of_the_host() -> Multiprecision:
    from exactla import registry

    return registry.load("numpy").multiprecision


def allowed_bytes(verbs: Multiprecision) -> int:
    """Bytes that a computation by these verbs may take."""
    limit = workspace_bytes.get()
    return verbs.free_bytes() * (FREE_SHARE - 1) // FREE_SHARE if limit is None else limit


def checked_precision(precision: Any, most: int = MOST_WRITTEN_BITS) -> int:
    """A precision as an integer, or the error that says what is wrong with it."""
    bits = integer(precision, "a precision in bits")
    if bits < LEAST_PRECISION:
        raise ValueError(f"a precision is of {LEAST_PRECISION} bits or more, got {bits}")
    if bits > most:
        raise ValueError(f"a precision is of {most} bits at most, got {bits}")
    return bits


def computed_precision(precision: Any) -> int:
    """The precision of a product or a factorization, or the error that says what is wrong with it."""
    return checked_precision(precision, MOST_PRECISION)
