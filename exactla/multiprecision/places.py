"""Where limbs live: on the host, or on a device whose backend has verbs for them; and how they get from one to another.

Limbs are arrays of the device's own library, so that an array says by itself where it is.
"""

from typing import Any

import numpy as np

from exactla import registry, settings
from exactla.arrays import Source, read
from exactla.backend import Buffer, Multiprecision
from exactla.core.expansions import Expansions
from exactla.errors import BackendUnavailable

HOST = "cpu"


def kind_of(limbs: Buffer) -> str:
    """The kind of device that limbs are on."""
    return HOST if isinstance(limbs, np.ndarray) else read(limbs, "limbs").device_kind


def device_of(limbs: Buffer) -> Any:
    """The device that limbs are on, as their library has it; "cpu" for the host."""
    return HOST if isinstance(limbs, np.ndarray) else read(limbs, "limbs").device


def verbs_at(kind: str) -> Multiprecision:
    """What moves limbs on a kind of device, and does elementwise arithmetic there."""
    return registry.load("numpy").multiprecision if kind == HOST else registry.default(kind).multiprecision


def verbs_for(kind: str) -> Multiprecision:
    """What computes products and factors of limbs on a kind of device: the forced backend, or the preferred one.

    Raises
    ------
    BackendUnavailable
        The forced backend takes none of them.
    """
    forced = settings.forced_backend.get()
    if forced is None:
        return registry.default(kind).multiprecision
    description = registry.descriptions()[forced]
    if kind not in description.devices + description.copies_from:
        raise BackendUnavailable(f"backend {forced!r} takes no arrays on {kind!r} devices")
    return registry.load(forced).multiprecision


def expansions() -> Expansions:
    """What turns floats of the host into limbs and back: of the forced backend, or the preferred one."""
    forced = settings.forced_backend.get()
    if forced is not None and HOST not in registry.descriptions()[forced].devices:
        forced = "numpy"
    verbs: Any = registry.default(HOST).multiprecision if forced is None else registry.load(forced).multiprecision
    found: Expansions = verbs.expansions
    return found


def moved(limbs: Buffer, origin: Multiprecision, target: Multiprecision) -> Buffer:
    """Limbs where other verbs want them; not copied where these are of the same place."""
    return limbs if origin is target else target.upload(origin.download(limbs))


def beside(limbs: "np.ndarray[Any, Any]", source: Source) -> Buffer:
    """Limbs of the host on the device of an array, where its backend has verbs for them, and else on the host."""
    if source.device_kind == HOST or not _is_taken(source.device_kind):
        return limbs
    with source.library.scope(source):
        return registry.default(source.device_kind).multiprecision.upload(limbs)


def _is_taken(kind: str) -> bool:
    return any(kind in d.devices and d.missing() is None for d in registry.descriptions().values())


def on(kind: Any, limbs: Buffer) -> Buffer:
    """Limbs on the current device of a kind.

    Raises
    ------
    BackendUnavailable
        No backend takes such devices here, or none has verbs for limbs on them.
    """
    if not isinstance(kind, str):
        raise TypeError(f"a kind of device is named by a string, got {type(kind).__name__}")
    origin = kind_of(limbs)
    if kind == origin:
        return limbs
    found = moved(limbs, verbs_at(origin), verbs_at(kind))
    if kind_of(found) != kind:
        raise BackendUnavailable(f"no backend keeps multiple-precision numbers on {kind!r} devices here")
    return found
