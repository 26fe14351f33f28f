"""Shapes: every dimension from 1 to 33, empty ones, vectors, stacks, batches, long sums, and layouts in memory."""

from collections.abc import Iterator
from functools import partial

from exactla_conformance.case import Case
from exactla_conformance.encodings import Encoded, Integer, part_format
from exactla_conformance.streams import (
    Stream,
    anything,
    binades,
    constant,
    draw,
    huge,
    ordinary,
    pair,
)

Shape = tuple[int, ...]


def dimensions() -> Iterator[Case]:
    """Every M, K and N from 1 to 33, in varied company."""
    for m in range(1, 34):
        k, n = 1 + (5 * m + 7) % 33, 1 + (13 * m + 2) % 33
        name = ("float32", "float64", "bfloat16", "float16")[m % 4]
        yield Case(f"shape-{m}x{k}x{n}", "mm_enclose", pair(name, ((m, k), (k, n)), anything))


EMPTY: tuple[tuple[Shape, Shape], ...] = (
    ((3, 0), (0, 4)),
    ((0, 5), (5, 4)),
    ((3, 5), (5, 0)),
    ((0, 0), (0, 0)),
    ((0,), (0,)),
    ((0,), (0, 3)),
    ((3, 0), (0,)),
    ((0, 2, 3), (3, 4)),
    ((0, 2, 3), (0, 3, 4)),
    ((0, 2, 3), (1, 3, 4)),
    ((2, 1, 2, 0), (3, 0, 4)),
)


def empty() -> Iterator[Case]:
    """A sum of no terms is zero; an empty result has its shape."""
    for a, b in EMPTY:
        name = f"empty-{_text(a)}-{_text(b)}"
        yield Case(name, "mm_enclose", pair("float64", (a, b)))
        yield Case(f"{name}-nearest", "mm", pair("float32", (a, b)))
    yield Case("empty-exact", "mm_exact", pair("int64", ((3, 0), (0, 4))))
    yield Case("empty-exact-rows", "mm_exact", pair("int", ((0, 2), (2, 4))))
    yield Case("empty-batch", "bmm_enclose", pair("float32", ((0, 2, 3), (0, 3, 4))))
    yield Case("empty-nt", "mm_enclose_nt", pair("float32", ((3, 0), (4, 0))))


STACKS: tuple[tuple[Shape, Shape], ...] = (
    ((4,), (4,)),
    ((4,), (4, 3)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 3)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 3, 4), (1, 4, 5)),
    ((1, 3, 4), (3, 4, 5)),
    ((2, 1, 3, 4), (3, 4, 2)),
    ((2, 1, 3, 4), (1, 3, 4, 2)),
    ((1, 1, 1, 1, 1), (1, 1)),
)


def stacks() -> Iterator[Case]:
    """Vectors, stacks and broadcasting as in matmul."""
    for a, b in STACKS:
        name = f"stack-{_text(a)}-{_text(b)}"
        yield Case(name, "mm_enclose", pair("float64", (a, b)))
        yield Case(f"{name}-up", "mm", pair("float32", (a, b), anything), {"rounding": "up"})
        if max(len(a), len(b)) < 4:
            yield Case(f"{name}-exact", "mm_exact", pair("int16", (a, b), anything))


def batches() -> Iterator[Case]:
    """Batches, whose members have nothing to do with one another."""
    for name in ("float64", "float32", "bfloat16", "float8_e4m3fn", "int8"):
        yield Case(f"batch-{name}", "bmm_enclose", pair(name, ((5, 3, 7), (5, 7, 2))))
        yield Case(f"batch-{name}-nearest", "bmm", pair(name, ((3, 2, 9), (3, 9, 4)), anything))
    yield Case("batch-down", "bmm", pair("float64", ((3, 4, 2), (3, 2, 4)), anything), {"rounding": "down"})
    yield Case("batch-converted", "bmm_enclose", pair("float64", ((2, 4, 2), (2, 2, 4))), {"dtype": "float16"})
    yield Case("batch-unlike", "bmm_enclose", _unlike_batch)


def _unlike_batch(stream: Stream) -> tuple[Encoded, ...]:
    """Members of the least, the ordinary and the largest scale."""
    fills = (binades(-1074, -1000), ordinary, huge)
    a = [entry for fill in fills for entry in draw(stream, "float64", (2, 5), fill).entries]
    return Encoded("float64", (3, 2, 5), a), draw(stream, "float64", (3, 5, 3), binades(-3, 3))


def transposed() -> Iterator[Case]:
    """The second operand by rows, and the Gram matrix."""
    for name in ("float64", "float32", "float16", "float8_e5m2", "uint8", "int"):
        yield Case(f"nt-{name}", "mm_enclose_nt", pair(name, ((4, 6), (3, 6)), anything))
        yield Case(f"nt-{name}-zero", "mm_nt", pair(name, ((4, 6), (3, 6)), anything), {"rounding": "zero"})
        yield Case(f"gram-{name}", "mm_enclose", partial(_single, format=name, shape=(5, 7)))
    yield Case("nt-stack", "mm_enclose_nt", pair("float64", ((2, 4, 6), (3, 6))))
    yield Case("nt-stack-both", "mm_enclose_nt", pair("float64", ((2, 1, 4, 6), (3, 5, 6))))
    yield Case("nt-vectors", "mm_nt", pair("float64", ((6,), (6,))))
    yield Case("nt-matrix-vector", "mm_enclose_nt", pair("float32", ((2, 4, 6), (6,))))
    yield Case("nt-vector-matrix", "mm_enclose_nt", pair("float32", ((6,), (4, 6))))
    yield Case("nt-mixed", "mm_enclose_nt", pair(("float32", "int64"), ((4, 6), (3, 6)), anything))
    yield Case("gram-stack", "mm_enclose", partial(_single, format="float32", shape=(3, 4, 2)))
    yield Case("gram-converted", "mm_enclose", partial(_single, format="float64", shape=(4, 9)), {"dtype": "float32"})
    yield Case("gram-row", "mm_enclose", partial(_single, format="float64", shape=(1, 30)))


def _single(stream: Stream, format: str, shape: Shape) -> tuple[Encoded, ...]:
    return (draw(stream, format, shape, anything if part_format(format).bits <= 16 else ordinary),)


LONG = (
    ("float64", 2047),
    ("float64", 2048),
    ("float64", 2049),
    ("float64", 40_000),
    ("float32", 2047),
    ("float32", 2049),
    ("float32", 131_071),
    ("float32", 131_072),
    ("float32", 131_073),
    ("float16", 65_537),
    ("bfloat16", 131_073),
    ("float8_e4m3", 131_073),
    ("int8", 131_071),
    ("int8", 131_073),
    ("int64", 2049),
)


def long_sums() -> Iterator[Case]:
    """Sums past the length that an accumulator holds, of random entries and of the worst ones."""
    for name, k in LONG:
        yield Case(f"long-{name}-{k}", "mm_enclose", pair(name, ((2, k), (k, 1))))
    for name, k in (("float64", 2049), ("float32", 131_073), ("bfloat16", 131_073), ("int8", 131_073)):
        yield Case(f"long-{name}-{k}-extreme", "mm_enclose", pair(name, ((1, k), (k, 2)), constant(_full(name))))
    yield Case("long-float32-300000", "mm_enclose", pair("float32", ((1, 300_000), (300_000, 1))))
    yield Case("long-int8-300000", "mm", pair("int8", ((1, 300_000), (300_000, 1)), anything))
    yield Case("long-uint8-300000", "mm_exact", pair("uint8", ((1, 300_000), (300_000, 1)), anything))
    yield Case("long-float64-wide", "mm_enclose", pair("float64", ((1, 5000), (5000, 1)), binades(-1074, 1023)))
    yield Case("long-batch", "bmm_enclose", pair("float32", ((2, 1, 40_000), (2, 40_000, 1))))


def worst_sums() -> Iterator[Case]:
    """Rows and columns constant but for their first entries: residues then add up far, and to odd sums."""
    for name, count, k in (
        ("float64", 6, 17),
        ("float64", 6, 1025),
        ("float64", 5, 20_000),
        ("float32", 6, 257),
        ("float32", 2, 270_000),
        ("int64", 6, 33),
        ("int8", 2, 270_000),
    ):
        yield Case(f"worst-{name}-{k}", "mm_enclose", partial(_constant_lines, name=name, count=count, k=k))


def _constant_lines(stream: Stream, name: str, count: int, k: int) -> tuple[Encoded, ...]:
    firsts, rows, tops, columns = (draw(stream, name, (count,), anything).entries for _ in range(4))
    a = [entry for first, rest in zip(firsts, rows, strict=True) for entry in (first, *[rest] * (k - 1))]
    return Encoded(name, (count, k), a), Encoded(name, (k, count), [*tops, *[*columns] * (k - 1)])


def _full(name: str) -> int:
    """A significand of ones, or the integer of the largest magnitude."""
    format = part_format(name)
    if isinstance(format, Integer):
        return format.minimum or 0
    return format.encode(2 * format.normal - 1, 1 - format.precision)


LAYOUTS = ("F", "reversed", "strided", "readonly", "offset")


def layouts() -> Iterator[Case]:
    """Strides, orders, offsets and views, which must not show."""
    for name in ("float64", "float32", "float16", "int32", "complex64"):
        for layout in LAYOUTS:
            build = pair(name, ((4, 5), (5, 3)), ordinary, (layout, "C" if layout == "offset" else layout))
            yield Case(f"layout-{name}-{layout}", "mm_enclose", build)
    yield Case("layout-stack", "mm_enclose", pair("float64", ((2, 4, 5), (2, 5, 3)), ordinary, ("F", "reversed")))
    yield Case("layout-nt", "mm_enclose_nt", pair("float64", ((4, 5), (3, 5)), ordinary, ("F", "reversed")))
    yield Case("layout-repeated", "mm_enclose", _repeated)


def _repeated(stream: Stream) -> tuple[Encoded, ...]:
    """A stack of stride 0: the same matrix three times."""
    a = draw(stream, "float64", (2, 5))
    return Encoded("float64", (3, 2, 5), list(a.entries) * 3, "repeated"), draw(stream, "float64", (3, 5, 2))


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape))


FAMILIES = (dimensions, empty, stacks, batches, transposed, long_sums, worst_sums, layouts)
