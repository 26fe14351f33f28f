"""Finds backends: through the entry-point group ``exactla.backends``, each with a cheap description.

A description says whether its backend can run here before anything heavy is imported; a backend is loaded, and its
engines are checked, when it is first used.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from exactla.backend import Backend
from exactla.errors import BackendUnavailable

GROUP = "exactla.backends"


@dataclass(frozen=True)
class BackendDescription:
    """What a backend package publishes under the entry-point group ``exactla.backends``.

    Attributes
    ----------
    name : str
        Name of the backend, equal to the name of the entry point.
    devices : tuple of str
        Kinds of device whose arrays it takes: "cpu", "cuda", "sycl".
    priority : int
        Among the available backends of a device the largest is chosen.
    missing : callable
        Returns None where the backend can run, else the reason with the line that would install what is missing.
    load : callable
        Returns the `Backend`.
    copies_from : tuple of str
        Kinds of device whose arrays it copies to its own where it is forced; results go back.
    """

    name: str
    devices: tuple[str, ...]
    priority: int
    missing: Callable[[], str | None]
    load: Callable[[], Backend]
    copies_from: tuple[str, ...] = ()


@dataclass(frozen=True)
class BackendStatus:
    """A backend as it is found here."""

    name: str
    devices: tuple[str, ...]
    available: bool
    reason: str
    engines: tuple[str, ...]

    def __str__(self) -> str:
        state = f"engines {', '.join(self.engines)}" if self.available else f"unavailable: {self.reason}"
        return f"{self.name} ({', '.join(self.devices)}): {state}"


@cache
def descriptions() -> dict[str, BackendDescription]:
    """All descriptions that installed packages publish, by name, the preferred one first."""
    found = [_describe(point) for point in metadata.entry_points(group=GROUP)]
    known: dict[str, BackendDescription] = {}
    for description in sorted(found, key=lambda d: (-d.priority, d.name)):
        known.setdefault(description.name, description)
    return known


def _describe(point: metadata.EntryPoint) -> BackendDescription:
    """What an entry point publishes; where that is broken, a description that says so."""
    try:
        description = point.load()
        if not isinstance(description, BackendDescription) or description.name != point.name:
            raise TypeError(f"{point.value} is not the description of a backend named {point.name!r}")
    except Exception as error:  # another package's fault must not stop the backends that work
        reason = f"{type(error).__name__}: {error}"
        return BackendDescription(point.name, (), 0, lambda: reason, lambda: _refuse(point.name, reason))
    return description


def _refuse(name: str, reason: str) -> Backend:
    raise BackendUnavailable(f"backend {name!r} cannot run here: {reason}")


def load(name: str) -> Backend:
    """The backend of that name.

    Raises
    ------
    BackendUnavailable
        Unknown name, or the backend cannot run here.
    """
    if not isinstance(name, str):
        raise TypeError(f"a backend is named by a string, got {type(name).__name__}")
    known = descriptions()
    if name not in known:
        raise BackendUnavailable(f"there is no backend named {name!r}; installed are {', '.join(known) or 'none'}")
    return _load(known[name])


@cache
def _load(description: BackendDescription) -> Backend:
    reason = description.missing()
    if reason is not None:
        raise BackendUnavailable(f"backend {description.name!r} cannot run here: {reason}")
    return description.load()


@cache
def default(device: str) -> Backend:
    """The preferred backend for arrays on a kind of device."""
    reasons = []
    for description in descriptions().values():
        if device in description.devices:
            reason = description.missing()
            if reason is None:
                return _load(description)
            reasons.append(f"{description.name}: {reason}")
    detail = "; ".join(reasons) or "none is installed"
    raise BackendUnavailable(f"no backend takes arrays on {device!r} devices here ({detail})")


def backends() -> tuple[BackendStatus, ...]:
    """The backends that are installed, the preferred one first, with the reason for each that is unavailable.

    Examples
    --------
    >>> import exactla as xl
    >>> [b.engines for b in xl.backends() if b.name == "numpy"]
    [('fp64', 'fp32', 'int64')]
    """
    return tuple(_status(d) for d in descriptions().values())


def _status(description: BackendDescription) -> BackendStatus:
    try:
        engines = tuple(e.name for e in _load(description).engines)
    except Exception as error:  # a driver may raise anything
        return BackendStatus(description.name, description.devices, False, str(error), ())
    return BackendStatus(description.name, description.devices, True, "", engines)
