"""Multiple precision: `MPArray`, an array of integers of many limbs times one power of two, and products of such.

`mparray` makes them and has their operators, on top of `limb_array` (what makes them an array) and `conversions` (what
they turn into). `products` multiplies matrices. The rest helps: `arithmetic` (of limbs), `objects` (numbers of other
libraries), `limits` (of precision and memory), `calls` (the backend of a call, and its memory).
"""

from exactla.multiprecision.mparray import MPArray
from exactla.multiprecision.products import mp_mm

__all__ = ["MPArray", "mp_mm"]
