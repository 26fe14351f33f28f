"""What the public calls return, and the choices that they take by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Enclosure(NamedTuple):
    """The two ends of an enclosure: arrays of one shape with lo <= exact value <= hi in every entry."""

    lo: Any
    hi: Any


class Rounding(StrEnum):
    """Direction in which an exact value is rounded to a format."""

    NEAREST = "nearest"
    """To the nearest value, ties to even."""
    DOWN = "down"
    """Towards minus infinity."""
    UP = "up"
    """Towards plus infinity."""
    ZERO = "zero"
    """Towards zero."""


@dataclass(frozen=True)
class Info:
    """How a result was computed. None of it can be seen in the result.

    Attributes
    ----------
    backend, engine : str
        What multiplied the residues.
    moduli : int
        Number of moduli.
    bits, capacity : int
        Bits of the integers that were summed (of their leading part, where that decided the result), and bits that the
        moduli determine.
    passes : int
        Blocks that the work was cut into to stay within the workspace limit.
    lossless : bool
        Whether the operands became integers without loss. Always true: there is no other regime.
    host_syncs : int
        Times that the host waited for the device.
    workspace_bytes : int
        Estimated peak of the memory used beside operands and results.
    hull : array of bool, optional
        For interval products: entries that are proven to be the exact interval hull, rounded outward.
    seconds : mapping, optional
        What parts of the work took, where they were counted.
    slices : int
        What either operand was cut into. `moduli` are those of all pairs of slices, and `capacity` is that of one pair.
    """

    backend: str
    engine: str
    moduli: int
    bits: int
    capacity: int
    passes: int
    lossless: bool
    host_syncs: int
    workspace_bytes: int
    hull: Any = field(default=None, repr=False)
    seconds: Mapping[str, float] | None = None
    slices: int = 1

    def __str__(self) -> str:
        text = (
            f"{self.backend}/{self.engine}: {self.bits} bits in {counted(self.moduli, 'modulus', 'moduli')} "
            f"({self.capacity} bits), {counted(self.passes, 'block')}, {counted(self.host_syncs, 'host sync')}, "
            f"{self.workspace_bytes / 2**20:,.1f} MiB of workspace{self._cut()}"
        )
        return text if self.hull is None else f"{text}, hull mask {tuple(self.hull.shape)}"

    def _cut(self) -> str:
        return f", operands in {self.slices} slices" if self.slices > 1 else ""


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts, in the singular or in the plural."""
    return f"{number} {one if number == 1 else many or one + 's'}"
