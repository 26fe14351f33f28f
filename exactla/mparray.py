"""`MPArray`, under the name of its capability; `exactla.multiprecision` holds it."""

from exactla.multiprecision.mparray import MPArray

__all__ = ["MPArray"]
