"""Settings of the calling context: backend, engine, threads, checks, workspace limit, progress.

Each is a context variable, so threads and asynchronous tasks do not see each other's. A name is checked when it is
set.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

from exactla import registry
from exactla.arguments import flag, integer

Progress = Callable[[int, int], object]
"""Called as progress(done, total) after each block of work."""

MOST_THREADS = 1 << 12
"""More than a machine has cores: a mistake, which would end in a system that refuses to start them."""

MOST_SLICES = 64
"""Some 4,000 products to be summed."""

forced_backend: ContextVar[str | None] = ContextVar("forced_backend", default=None)
forced_engine: ContextVar[str | None] = ContextVar("forced_engine", default=None)
slice_count: ContextVar[int | None] = ContextVar("slice_count", default=None)
thread_count: ContextVar[int | None] = ContextVar("thread_count", default=None)
checks_enabled: ContextVar[bool] = ContextVar("checks_enabled", default=True)
workspace_bytes: ContextVar[int | None] = ContextVar("workspace_bytes", default=None)
progress_callback: ContextVar[Progress | None] = ContextVar("progress_callback", default=None)


@contextmanager
def _set(variable: ContextVar[Any], value: object) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def backend(name: str | None) -> AbstractContextManager[None]:
    """Force a backend inside a ``with`` block; None restores the automatic choice.

    Parameters
    ----------
    name : str or None
        One of the names that `backends` lists. The result of a call never depends on it.

    Raises
    ------
    BackendUnavailable
        Unknown name, or the backend cannot run here: the message says why and what would help.

    Examples
    --------
    >>> import exactla as xl
    >>> with xl.backend("numpy"):
    ...     xl.mm([[1.0, 2.0]], [[3.0], [4.0]])
    array([[11.]])
    """
    if name is not None:
        registry.load(name)
    return _set(forced_backend, name)


def engine(name: str | None) -> AbstractContextManager[None]:
    """Force the engine that multiplies residues inside a ``with`` block; None restores the automatic choice.

    Parameters
    ----------
    name : str or None
        An engine of the backend in use, as listed by `backends`. A call whose backend has no such engine raises
        `BackendUnavailable`. The result of a call never depends on it.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"an engine is named by a string, got {type(name).__name__}")
    return _set(forced_engine, name)


def slices(count: int | None) -> AbstractContextManager[None]:
    """Force how `mp_mm` cuts its operands inside a ``with`` block; None restores the automatic choice.

    Parameters
    ----------
    count : int or None
        With 1 or more, so many slices of either operand, whose products two by two are made with moduli of 8 bits; an
        engine whose moduli of 8 bits do not hold them raises `EngineLimitError`. With 0, whole operands and longer
        moduli. By default operands are whole, with moduli of 8 bits where these hold the sums. The result of a call
        never depends on it.
    """
    return _set(slice_count, _checked_slices(count))


def threads(number: int | None) -> AbstractContextManager[None]:
    """Compute on so many threads of the CPU inside a ``with`` block; None restores the automatic choice.

    Parameters
    ----------
    number : int or None
        1 or more, and more than there are cores if need be; small work takes fewer. None leaves the number to OpenMP,
        or with the NumPy backend to BLAS, and so to OMP_NUM_THREADS and threadpoolctl. The result of a call never
        depends on it. After a call on several threads a forked process has to keep to one, as with all of OpenMP.
    """
    return _set(thread_count, _checked_threads(number))


def operand_checks(enabled: bool) -> AbstractContextManager[None]:
    """Switch the second check of the operands on or off inside a ``with`` block.

    The check finds operands that were written to by another thread during a call, and costs one host
    synchronisation. Without it such a race goes unnoticed; results for operands at rest are the same.
    """
    return _set(checks_enabled, flag(enabled, "enabled"))


def set_operand_checks(enabled: bool) -> None:
    """Switch the second check of the operands on or off for the calling thread or task; see `operand_checks`."""
    checks_enabled.set(flag(enabled, "enabled"))


def workspace_limit(limit: int | None) -> AbstractContextManager[None]:
    """Limit the memory used beside operands and results inside a ``with`` block.

    Parameters
    ----------
    limit : int or None
        Bytes. None restores the default, a quarter of the memory that is free when a call starts, or half of it for
        exact solving. Larger work is cut into blocks; where not even the smallest block fits, a call raises
        `WorkspaceError` before it allocates. Copies that a device holds of the host's operands and results count as
        such themselves. After a call the CPU backend keeps up to 512 MiB for the next ones.
    """
    return _set(workspace_bytes, _checked_limit(limit))


def set_workspace_limit(limit: int | None) -> None:
    """Limit the workspace for the calling thread or task; see `workspace_limit`."""
    workspace_bytes.set(_checked_limit(limit))


def progress(callback: Progress | None) -> AbstractContextManager[None]:
    """Have `callback(done, total)` called after each block of work inside a ``with`` block."""
    if callback is not None and not callable(callback):
        raise TypeError(f"progress takes a function of (done, total), got {type(callback).__name__}")
    return _set(progress_callback, callback)


def _checked_limit(limit: int | None) -> int | None:
    if limit is None:
        return None
    bytes_ = integer(limit, "a workspace limit in bytes")
    if bytes_ <= 0:
        raise ValueError(f"a workspace limit is a positive number of bytes, got {bytes_}")
    return bytes_


def _checked_slices(number: int | None) -> int | None:
    if number is None:
        return None
    count = integer(number, "the number of slices")
    if not 0 <= count <= MOST_SLICES:
        raise ValueError(f"the number of slices is from 0 to {MOST_SLICES}, got {count}")
    return count


def _checked_threads(number: int | None) -> int | None:
    if number is None:
        return None
    count = integer(number, "the number of threads")
    if not 1 <= count <= MOST_THREADS:
        raise ValueError(f"the number of threads is from 1 to {MOST_THREADS}, got {count}")
    return count
