"""What a call allows its work: memory, and someone to tell how far it is."""

from collections.abc import Callable
from dataclasses import dataclass

from exactla.backend import Backend
from exactla.errors import WorkspaceError

Progress = Callable[[int, int], object]

SHARE = 2
"""Part of the free memory, as its reciprocal, that a system may take where no limit is set."""


@dataclass(frozen=True)
class Conditions:
    """The conditions of a call.

    Attributes
    ----------
    progress : callable, optional
        Called as ``progress(done, total)``.
    workspace_limit : int, optional
        Bytes of workspace.
    """

    progress: Progress | None = None
    workspace_limit: int | None = None

    def workspace(self, backend: Backend) -> int:
        """Bytes of workspace that may be taken now."""
        return backend.free_bytes() // SHARE if self.workspace_limit is None else self.workspace_limit

    def require(self, backend: Backend, needed: int, work: str) -> int:
        """Bytes that are left beside what is needed at least.

        Raises
        ------
        WorkspaceError
            There are not so many.
        """
        allowed = self.workspace(backend)
        if needed > allowed:
            raise WorkspaceError(needed, allowed, f"{work} needs")
        return allowed - needed

    def report(self, done: int, total: int) -> None:
        """Tell of progress."""
        if self.progress is not None:
            self.progress(done, total)
