"""Where the entries of the cases come from: a stream of hashed words, and ways to fill an array from it.

Integers only, so that a case is the same on every machine and under every version of Python and NumPy.
"""

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import shake_256
from itertools import count as numbers
from itertools import islice
from typing import TypeVar

from exactla_conformance.encodings import COMPLEX, Encoded, Floating, Format, part_format

_T = TypeVar("_T")


class Stream:
    """64-bit words from SHAKE-256 of a name and a block number."""

    def __init__(self, name: str) -> None:
        self._words = self._hash(name)

    @staticmethod
    def _hash(name: str) -> Iterator[int]:
        for number in numbers():
            yield from struct.unpack("<512Q", shake_256(f"{name} {number}".encode()).digest(4096))

    def many(self, count: int, limit: int) -> list[int]:
        """Integers in [0, limit)."""
        if limit <= 1 << 64:
            return [word * limit >> 64 for word in islice(self._words, count)]
        return [self._wide(limit) for _ in range(count)]

    def each(self, limits: Sequence[int]) -> list[int]:
        """An integer in [0, limit) for each of these limits."""
        if max(limits, default=0) <= 1 << 64:
            return [word * limit >> 64 for word, limit in zip(islice(self._words, len(limits)), limits, strict=True)]
        return [self.below(limit) for limit in limits]

    def _wide(self, limit: int) -> int:
        value = 0
        for word in islice(self._words, limit.bit_length() // 64 + 2):
            value = value << 64 | word
        return value % limit

    def below(self, limit: int) -> int:
        """An integer in [0, limit)."""
        return self.many(1, limit)[0]

    def between(self, first: int, last: int) -> int:
        """An integer in [first, last]."""
        return first + self.below(last - first + 1)

    def choose(self, options: Sequence[_T]) -> _T:
        """One of the options."""
        return options[self.below(len(options))]


Fill = Callable[[Stream, Format, int], list[int]]
"""Draws so many entries of a format."""


def _signed(stream: Stream, format: Floating, count: int, first: int, last: int) -> list[int]:
    """Encodings of magnitudes from `first` to `last` with random signs; +0 for the -0 of a format without it."""
    drawn, sign = stream.many(count, 2 * (last - first + 1)), format.sign
    entries = [first + (x >> 1) + sign * (x & 1) for x in drawn]
    return entries if format.signed_zero else [0 if entry == sign else entry for entry in entries]


def _floating(format: Format) -> Floating:
    if not isinstance(format, Floating):
        raise TypeError(f"{format.name} is no floating-point format")
    return format


def binades(first: int, last: int) -> Fill:
    """Normal values from 2**first up to 2**(last + 1), every binade as likely; limited to the format's range."""

    def fill(stream: Stream, format: Format, count: int) -> list[int]:
        f = _floating(format)
        lowest = f.least + f.precision - 1
        highest = lowest + f.largest_encoding // f.normal - 1
        low, high = (min(max(binade, lowest), highest) - lowest for binade in (first, last))
        return _signed(stream, f, count, (low + 1) * f.normal, min((high + 2) * f.normal - 1, f.largest_encoding))

    return fill


def ordinary(stream: Stream, format: Format, count: int) -> list[int]:
    """Values of about one, or integers of one or two digits."""
    if isinstance(format, Floating):
        return binades(-2, 2)(stream, format, count)
    first, last = format.limits(12)
    return [first + x for x in stream.many(count, last - first + 1)]


def anything(stream: Stream, format: Format, count: int) -> list[int]:
    """Any finite value, every encoding as likely; integers of any length, up to 200 bits where there is no limit."""
    if isinstance(format, Floating):
        return _signed(stream, format, count, 0, format.largest_encoding)
    lengths = format.bits or 201
    ranges = [format.limits(1 << bits) for bits in range(lengths)]
    spans = [last - first + 1 for first, last in ranges]
    drawn = stream.many(count, lengths)
    within = stream.each([spans[bits] for bits in drawn])
    return [ranges[bits][0] + x for bits, x in zip(drawn, within, strict=True)]


def subnormal(stream: Stream, format: Format, count: int) -> list[int]:
    """Subnormal values and zeros of both signs."""
    f = _floating(format)
    return _signed(stream, f, count, 0, f.normal - 1)


def huge(stream: Stream, format: Format, count: int) -> list[int]:
    """Values of the last two binades of a float format, integers near their limits."""
    if isinstance(format, Floating):
        return _signed(stream, format, count, format.largest_encoding - 2 * format.normal + 1, format.largest_encoding)
    first, last = format.limits(1 << 200)
    near = stream.many(count, 2 * min(3, last - first + 1))
    return [first + (x >> 1) if x & 1 else last - (x >> 1) for x in near]


def zeros(stream: Stream, format: Format, count: int) -> list[int]:
    """Zeros of both signs."""
    return _signed(stream, _floating(format), count, 0, 0)


def positive(fill: Fill) -> Fill:
    """The magnitudes of a fill."""

    def draw(stream: Stream, format: Format, count: int) -> list[int]:
        entries = fill(stream, format, count)
        if isinstance(format, Floating):
            return [entry % format.sign for entry in entries]
        return [min(abs(entry), format.limits(abs(entry))[1]) for entry in entries]

    return draw


def sometimes(special: Mapping[str, Sequence[int]], fill: Fill, one_in: int) -> Fill:
    """A fill where one entry in so many is taken from a list of encodings for the format."""

    def draw(stream: Stream, format: Format, count: int) -> list[int]:
        chosen = [not x for x in stream.many(count, one_in)]
        entries = fill(stream, format, count)
        return [stream.choose(special[format.name]) if c else e for c, e in zip(chosen, entries, strict=True)]

    return draw


def constant(entry: int) -> Fill:
    """The same encoding everywhere."""
    return lambda stream, format, count: [entry] * count


def draw(stream: Stream, format: str, shape: tuple[int, ...], fill: Fill = ordinary, layout: str = "C") -> Encoded:
    """An array filled from a stream."""
    count = math.prod(shape) * (2 if format in COMPLEX else 1)
    return Encoded(format, shape, fill(stream, part_format(format), count), layout)


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
