"""Where the entries of the cases come from: a tiny integer generator, and ways to fill an array from it.

Integers only, so that a case is the same on every machine and under every version of Python and NumPy.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TypeVar

from exactla_conformance.encodings import COMPLEX, Encoded, Floating, Format, Integer, part_format

_WORD = (1 << 64) - 1
_T = TypeVar("_T")


class Stream:
    """SplitMix64 (Steele, Lea and Flood 2014), seeded by a name."""

    def __init__(self, name: str) -> None:
        self._state = int.from_bytes(sha256(name.encode()).digest()[:8], "little")

    def word(self) -> int:
        """The next 64 bits."""
        self._state = (self._state + 0x9E37_79B9_7F4A_7C15) & _WORD
        z = self._state
        z = ((z ^ z >> 30) * 0xBF58_476D_1CE4_E5B9) & _WORD
        z = ((z ^ z >> 27) * 0x94D0_49BB_1331_11EB) & _WORD
        return z ^ z >> 31

    def below(self, limit: int) -> int:
        """An integer in [0, limit)."""
        if limit <= 1 << 32:
            return self.word() * limit >> 64
        value = 0
        for _ in range(limit.bit_length() // 64 + 2):
            value = value << 64 | self.word()
        return value % limit

    def between(self, first: int, last: int) -> int:
        """An integer in [first, last]."""
        return first + self.below(last - first + 1)

    def choose(self, options: Sequence[_T]) -> _T:
        """One of the options."""
        return options[self.below(len(options))]


Fill = Callable[[Stream, Format], int]
"""Draws one entry of a format."""


def _floating(format: Format) -> Floating:
    if not isinstance(format, Floating):
        raise TypeError(f"{format.name} is no floating-point format")
    return format


def _signed(stream: Stream, format: Floating, magnitude: int) -> int:
    """A magnitude with a random sign; never the encoding that a format without -0 uses for NaN."""
    return magnitude + format.sign if magnitude and stream.below(2) else magnitude


def binades(first: int, last: int) -> Fill:
    """Normal values from 2**first up to 2**(last + 1), every binade as likely; limited to the format's range."""

    def fill(stream: Stream, format: Format) -> int:
        f = _floating(format)
        lowest = f.least + f.precision - 1
        binade = min(max(stream.between(first, last), lowest), lowest + f.largest_encoding // f.normal - 1)
        fraction = stream.below(f.normal)
        return _signed(stream, f, min((binade - lowest + 1) * f.normal + fraction, f.largest_encoding))

    return fill


def ordinary(stream: Stream, format: Format) -> int:
    """Values of about one, or integers of one or two digits."""
    if isinstance(format, Floating):
        return binades(-2, 2)(stream, format)
    return stream.between(*_limits(format, 12))


def anything(stream: Stream, format: Format) -> int:
    """Any finite value, every encoding as likely; Python integers up to 200 bits."""
    if isinstance(format, Floating):
        return _signed(stream, format, stream.below(format.largest_encoding + 1))
    return stream.between(*_limits(format, 1 << stream.below(201)))


def subnormal(stream: Stream, format: Format) -> int:
    """Subnormal values and zeros of both signs."""
    f = _floating(format)
    magnitude = stream.below(f.normal)
    return magnitude + f.sign if stream.below(2) and (magnitude or f.signed_zero) else magnitude


def huge(stream: Stream, format: Format) -> int:
    """Values of the last two binades of a float format, integers near their limits."""
    if isinstance(format, Floating):
        return _signed(stream, format, format.largest_encoding - stream.below(2 * format.normal))
    first, last = _limits(format, 1 << 200)
    near = stream.below(min(3, last - first + 1))
    return stream.choose((first + near, last - near))


def positive(fill: Fill) -> Fill:
    """The magnitudes of a fill; integers are reflected into the positive ones."""

    def draw(stream: Stream, format: Format) -> int:
        entry = fill(stream, format)
        return entry % format.sign if isinstance(format, Floating) else min(abs(entry), _limits(format, abs(entry))[1])

    return draw


def sometimes(entries: Mapping[str, Sequence[int]], fill: Fill, one_in: int) -> Fill:
    """A fill where one entry in so many is taken from a list of encodings for the format."""

    def draw(stream: Stream, format: Format) -> int:
        return fill(stream, format) if stream.below(one_in) else stream.choose(entries[format.name])

    return draw


def zeros(stream: Stream, format: Format) -> int:
    """Zeros of both signs."""
    return format.sign if isinstance(format, Floating) and format.signed_zero and stream.below(2) else 0


def constant(entry: int) -> Fill:
    """The same encoding everywhere."""
    return lambda stream, format: entry


def _limits(format: Integer, otherwise: int) -> tuple[int, int]:
    """The format's limits, no further than `otherwise` from zero for `int` and, where that is small, for the rest."""
    first = -otherwise if format.minimum is None else max(format.minimum, -otherwise)
    last = otherwise if format.maximum is None else min(format.maximum, otherwise)
    return first, last


def draw(stream: Stream, format: str, shape: tuple[int, ...], fill: Fill = ordinary, layout: str = "C") -> Encoded:
    """An array filled from a stream."""
    part = part_format(format)
    count = math.prod(shape) * (2 if format in COMPLEX else 1)
    return Encoded(format, shape, [fill(stream, part) for _ in range(count)], layout)


Build = Callable[[Stream], tuple[Encoded, ...]]
"""Makes the operands of a case."""


def pair(
    format: str | tuple[str, str],
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    fill: Fill | tuple[Fill, Fill] = ordinary,
    layouts: tuple[str, str] = ("C", "C"),
) -> Build:
    """Two operands, each with its own format, shape, fill and layout, or a common one."""
    formats = format if isinstance(format, tuple) else (format, format)
    fills = fill if isinstance(fill, tuple) else (fill, fill)

    def build(stream: Stream) -> tuple[Encoded, ...]:
        return tuple(draw(stream, *each) for each in zip(formats, shapes, fills, layouts, strict=True))

    return build


def fixed(*operands: Encoded) -> Build:
    """Operands written out in full."""
    return lambda stream: operands
