"""What a call allows its work: memory, and someone to tell how far it is."""

from collections.abc import Callable
from dataclasses import dataclass

from exactla.backend import Backend
from exactla.errors import WorkspaceError

Progress = Callable[[int, int], object]

SHARE = 2
"""Part of the free memory, as its reciprocal, that a system may take where no limit is set."""


SMALL = 1 << 26
"""Bytes that nobody asks about where no limit is set: it would take longer than a small system."""


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
        return backend.solving_bytes() // SHARE if self.workspace_limit is None else self.workspace_limit

    def may_lack(self, needed: int) -> bool:
        """Whether so many bytes may be more than can be taken."""
        return self.workspace_limit is not None or needed > SMALL

    def require(self, backend: Backend, needed: int, work: str) -> None:
        """Refuse work that needs more bytes than may be taken.

        Raises
        ------
        WorkspaceError
            There are not so many.
        """
        if not self.may_lack(needed):
            return
        allowed = self.workspace(backend)
        if needed > allowed:
            raise WorkspaceError(needed, allowed, f"{work} needs")

    def report(self, done: int, total: int) -> None:
        """Tell of progress."""
        if self.progress is not None:
            self.progress(done, total)
