"""The exceptions that exactla raises.

Each derives from `ExactlaError` and from the built-in or NumPy class that a caller would already catch for the
same fault. This module knows nothing of arrays or backends.
"""

import numpy as np


class ExactlaError(Exception):
    """Root of every exception that exactla defines."""


class NonFiniteError(ExactlaError, ValueError):
    """An operand holds a NaN or an infinity where a finite value is needed.

    Attributes
    ----------
    operand : str
        Name of the argument.
    index : tuple of int
        Index of the first such entry, in the order of the argument as it was passed.
    """

    def __init__(self, operand: str, index: tuple[int, ...], hint: str = "") -> None:
        self.operand = operand
        self.index = index
        where = f"[{', '.join(map(str, index))}]" if index else ""
        super().__init__(f"{operand}{where} is not finite{hint and '; ' + hint}")


class SingularMatrixError(ExactlaError, np.linalg.LinAlgError, ZeroDivisionError):
    """The matrix has no inverse over the rationals."""


class InconsistentSystemError(ExactlaError, np.linalg.LinAlgError):
    """The linear system has no solution.

    Attributes
    ----------
    certificate : tuple of int
        A row y with y A = 0 and y b != 0, which no solution could satisfy.
    """

    def __init__(self, message: str, certificate: tuple[int, ...] = ()) -> None:
        self.certificate = certificate
        super().__init__(message)


class PrecisionError(ExactlaError, ArithmeticError):
    """A pivot rounds to zero at the precision asked for.

    Attributes
    ----------
    more_bits : int
        How many more bits would keep the pivot, as far as can be seen.
    """

    def __init__(self, message: str, more_bits: int = 0) -> None:
        self.more_bits = more_bits
        super().__init__(message)


class BackendUnavailable(ExactlaError, ImportError):
    """A backend or an engine was asked for that cannot run here; the message says why and what would help."""


class EngineLimitError(BackendUnavailable):
    """The engine that was asked for has no moduli that determine integers of as many bits as a call needs."""


class OperandChangedError(ExactlaError, RuntimeError):
    """An operand was written to by another thread while a product was being computed from it."""


class WorkspaceError(ExactlaError, MemoryError):
    """The smallest piece of the work, or an array of limbs, does not fit the workspace limit.

    Attributes
    ----------
    needed, allowed : int
        Bytes.
    """

    def __init__(self, needed: int, allowed: int, what: str = "the smallest block of this product needs") -> None:
        self.needed = needed
        self.allowed = allowed
        super().__init__(
            f"{what} {needed:,} bytes of workspace and {allowed:,} are allowed; "
            "raise the limit with exactla.workspace_limit(...)"
        )
