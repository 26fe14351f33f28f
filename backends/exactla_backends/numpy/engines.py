"""Engines: exact products of residue planes, by BLAS inside its proven bound or by integer arithmetic.

Every partial sum of K products of centred residues is at most K (m/2)**2, which the engine's depth keeps within the
integers that its accumulator holds exactly, in whatever order BLAS adds them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Engine, Pairs
from exactla.core.moduli import ResidueBase
from exactla_backends.numpy import tables
from exactla_backends.numpy.chunks import chunks
from exactla_backends.numpy.encodings import Ints
from exactla_backends.numpy.residues import centre
from exactla_backends.numpy.threads import for_each

Planes = NDArray[Any]

ENGINES = (
    Engine("fp64", 53, (1 << 22,)),
    Engine("fp32", 24, (1 << 8, 1 << 10, 1 << 12)),
    Engine("int64", 53, (1 << 22,)),
)
DTYPES = {"fp64": np.float64, "fp32": np.float32, "int64": np.int64}

TOGETHER = 1 << 16
"""Entries up to which all moduli are multiplied by one call."""

COPIES = 22
"""Times that the rows of an engine's check are repeated."""

UNREDUCED = 512
"""Products that may be summed before a reduction: 2**53 * 512 < 2**63."""


def multiply(terms: Sequence[tuple[int, Planes, Planes]], pairs: Pairs, base: ResidueBase, engine: Engine) -> Planes:
    """Planes [P, T, R, C], int32, of the sum over terms of sign * a[:, i] @ b[:, j] transposed."""
    selected = [(sign, _select(a, pairs[0]), _select(b, pairs[1])) for sign, a, b in terms]
    _, a, b = selected[0]
    full = (len(base.moduli), len(pairs[0]), a.shape[2], b.shape[2])
    if 0 in full:
        return np.empty(full, np.int32)
    shape = (full[0], max(a.shape[1], b.shape[1]), *full[2:])
    result = np.empty(shape, np.int32)
    # moduli at a time: all of a small product, one of a large one
    step = max(1, TOGETHER // int(np.prod(shape[1:])))
    depth = engine.depth(max(base.moduli))
    moduli = tables.moduli(base)[:, :, None, None]

    def multiply_group(start: int) -> None:
        group = slice(start, start + step)
        _multiply_group([(s, a[group], b[group]) for s, a, b in selected], depth, moduli[group], result[group])

    for_each(multiply_group, range(0, shape[0], step))
    return np.broadcast_to(result, full)


def _multiply_group(terms: Sequence[tuple[int, Planes, Planes]], depth: int, moduli: Ints, result: Planes) -> None:
    """One group of moduli: exact products of up to `depth` terms, summed in int64 and reduced."""
    pieces = [
        (sign, a[..., k : k + depth], b[..., k : k + depth].swapaxes(-1, -2))
        for sign, a, b in terms
        for k in range(0, max(a.shape[-1], 1), depth)
    ]
    if len(pieces) == 1:
        sign, a, b = pieces[0]
        _reduce(np.matmul(a, b), sign, moduli, result)
        return
    total = np.zeros(result.shape, np.int64)
    for number, (sign, a, b) in enumerate(pieces, 1):
        product = np.matmul(a, b)
        for place in chunks(total.shape):
            total[place] += sign * product[place].astype(np.int64)
        if number % UNREDUCED == 0:
            _reduce(total, 1, moduli, total)
    _reduce(total, 1, moduli, result)


def _reduce(product: Planes, sign: int, moduli: Ints, result: Planes) -> None:
    """result = sign * product mod m, centred."""
    for place in chunks(product.shape):
        values = product[place].astype(np.int64)
        result[place] = centre(values if sign > 0 else -values, moduli[place[0]])


def _select(planes: Planes, index: Sequence[int]) -> Planes:
    """planes[:, index], not copied where the index is a range or a single matrix."""
    if len(index) == 0:
        return planes[:, :0]
    if all(i == index[0] for i in index):
        return planes[:, index[0] : index[0] + 1]
    if list(index) == list(range(index[0], index[0] + len(index))):
        return planes[:, index[0] : index[0] + len(index)]
    return planes[:, list(index)]


def combine(terms: Sequence[tuple[int, Planes]], base: ResidueBase) -> Planes:
    """Planes, int32, of the sum over terms of sign * planes."""
    result = np.empty(terms[0][1].shape, np.int32)
    moduli = tables.moduli(base)[:, :, None, None]

    def add(piece: tuple[slice, ...]) -> None:
        total = sum(sign * planes[piece].astype(np.int64) for sign, planes in terms)
        result[piece] = centre(np.asarray(total), moduli[piece[0]])

    for_each(add, chunks(result.shape))
    return result


def is_exact(engine: Engine, modulus_limit: int) -> bool:
    """Whether the longest products of residues at the bound come out right, of equal and of opposite signs.

    One factor is 1, first or last, so that the sums have ones at both ends of the accumulator.
    """
    depth, extreme = engine.depth(modulus_limit), modulus_limit // 2
    first = [1] + [extreme] * (depth - 1)
    rows = [first, first[::-1], [-x for x in first]]
    # repeated, so that a blocked product is what is checked, and copied, so that it is not taken for a symmetric one
    planes = np.tile(np.array(rows, DTYPES[engine.name]), (COPIES, 1))
    product = np.matmul(planes, planes.copy().T).astype(np.int64)
    expected = [[sum(x * y for x, y in zip(r, s, strict=True)) for s in rows] for r in rows]
    return bool((product == np.tile(expected, (COPIES, COPIES))).all())
