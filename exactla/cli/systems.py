"""What ``solve`` and ``lu`` share: why a system in files is refused, in the words of the command line."""

from collections.abc import Iterator
from contextlib import contextmanager

from exactla.cli.exits import InputError
from exactla.cli.loading import NamedArray
from exactla.errors import InconsistentSystemError, NonFiniteError, PrecisionError, SingularMatrixError


@contextmanager
def explained(a: NamedArray, b: NamedArray | None) -> Iterator[None]:
    """Faults of the matrix and the right-hand side as `InputError`, with the names of their files."""
    try:
        yield
    except NonFiniteError as error:
        file = a.name if error.operand == "A" or b is None else b.name
        raise InputError(f"{file}: the entry {list(error.index)} is not finite") from error
    except (SingularMatrixError, InconsistentSystemError, PrecisionError, TypeError, ValueError) as error:
        names = f"A is {a.name}" + (f", b is {b.name}" if b is not None else "")
        raise InputError(f"{error} ({names})") from error
