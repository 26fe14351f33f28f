"""Operands that are converted once and multiplied many times."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from exactla.arrays import Source, read
from exactla.core.contraction import Conversion


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """An operand of products that keeps what has been made of it; see `prepare`.

    Attributes
    ----------
    shape : tuple of int
        Shape of the array.
    array : array
        The array itself.
    """

    _source: Source
    _conversions: dict[Hashable, Conversion] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._source.shape

    @property
    def array(self) -> Any:
        return self._source.array

    def conversion(self, backend: str, *, transpose: bool) -> Conversion:
        """What a backend has made of the operand, as one side of a product."""
        return self._conversions.setdefault((backend, transpose), Conversion())

    def as_operand(self, name: str) -> Source:
        """The array as an argument of a call, which finds here what earlier calls have made of it."""
        return replace(self._source, name=name, prepared=self)

    def __repr__(self) -> str:
        kind = f"complex of {self._source.format}" if self._source.complex else str(self._source.format)
        return f"<exactla.Prepared: {self._source.library.name} array of shape {self.shape}, {kind}>"


def prepare(a: Any) -> Prepared:
    """Prepare an operand for many products.

    Parameters
    ----------
    a : array, shape (..., M, K) or (K,)
        As in `mm_enclose`. It is not copied, and must not be written to while the result is in use.

    Returns
    -------
    Prepared
        Takes the place of the array, on either side, in `mm_enclose`, `mm` and their nt and batched forms. The first
        product scans and converts it, and later ones with partners of like exponents use that again; the results are
        the same bytes. The residues are kept as long as the object is: a few times the memory of the array.

    Raises
    ------
    TypeError, ValueError
        As from `mm_enclose`.

    Examples
    --------
    >>> import numpy as np
    >>> import exactla as xl
    >>> a = xl.prepare(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> [xl.mm(a, np.array([x, 1.0])) for x in (0.0, 1.0)]
    [array([2., 4.]), array([3., 7.])]
    """
    return Prepared(read(a, "a"))
