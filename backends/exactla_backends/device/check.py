"""Self-checks of a device's matrix units: the longest sums of the largest residues, and entries that all differ."""

import numpy as np

from exactla.backend import Engine
from exactla.core.moduli import ResidueBase
from exactla_backends.device.device import Device, HostArray
from exactla_backends.device.matrix import Matrix
from exactla_backends.device.planes import DEPTH, OperandPlanes, ResultPlanes, octets_of, padded

ROWS, COLUMNS = 3, (5, 21)
"""Of the longest sums; some devices multiply few columns in another way than many."""

UNEVEN = (37, 21, 3 * DEPTH)
"""Rows, columns and depth: more than a tile has, and no whole tiles."""


def products_are_exact(device: Device, matrix: Matrix, engine: Engine) -> bool:
    """Whether an engine passes both checks, for all its kinds of moduli."""
    return all(
        extreme_products_are_exact(device, matrix, engine, limit)
        and uneven_products_are_exact(device, matrix, engine, limit)
        for limit in engine.modulus_limits
    )


def extreme_products_are_exact(device: Device, matrix: Matrix, engine: Engine, modulus_limit: int) -> bool:
    """Whether products of residues at the bound are congruent to their sums, and centred."""
    base = ResidueBase((modulus_limit, modulus_limit - 1))
    depth = padded(matrix.longest(engine, modulus_limit), DEPTH)
    left = np.array([-(m // 2) for m in base.moduli])
    right = np.array([[-(m // 2), (m - 1) // 2] for m in base.moduli])
    a = _operand(device, base, left[None, :, None, None], (ROWS, depth))
    wanted = (left[:, None] * right * depth).T[:, :, None, None]
    for columns in COLUMNS:
        b = _operand(device, base, right.T[:, :, None, None], (columns, depth))
        found = matrix.multiply([(1, a, b), (-1, a, b), (1, a, b)], ([0, 0], [0, 1]), base, engine)
        if not _are_residues(device, found, wanted, base):
            return False
    return True


def uneven_products_are_exact(device: Device, matrix: Matrix, engine: Engine, modulus_limit: int) -> bool:
    """Whether products of matrices whose entries all differ are congruent to them, and centred."""
    base = ResidueBase((modulus_limit, modulus_limit - 1))
    rows, columns, depth = UNEVEN
    random = np.random.default_rng(modulus_limit)
    a, b = (random.integers(-(base.moduli[1] // 2), modulus_limit // 2, (1, 2, n, depth)) for n in (rows, columns))
    planes = [_operand(device, base, x, x.shape[2:]) for x in (a, b)]
    terms = [(sign, planes[0], planes[1]) for sign in (1, 1, -1, 1)]
    found = matrix.multiply(terms, ([0], [0]), base, engine)
    return _are_residues(device, found, 2 * (a @ b.swapaxes(2, 3)), base)


def _are_residues(device: Device, found: ResultPlanes, wanted: HostArray, base: ResidueBase) -> bool:
    """Whether planes are centred and congruent to integers that broadcast to [T, P, R, C]."""
    pairs, rows, columns = found.shape
    shape = (pairs, found.moduli, rows, found.padded_columns)
    planes = device.download(found.memory, np.dtype(f"i{found.octets}"), shape)[..., :columns].astype(np.int64)
    moduli = np.array(base.moduli)[None, :, None, None]
    centred = (2 * planes >= -moduli) & (2 * planes <= moduli)
    return bool((((planes - wanted) % moduli == 0) & centred).all())


def _operand(device: Device, base: ResidueBase, residues: HostArray, shape: tuple[int, ...]) -> OperandPlanes:
    """Planes of residues [S, P, ...] that broadcast to a shape [R, depth]."""
    octets = octets_of(base)
    low = (residues + 128) % 256 - 128 if octets == 2 else residues
    digits = np.stack([(residues - low) // 256, low], axis=2) if octets == 2 else residues[:, :, None]
    planes = np.broadcast_to(digits.astype(np.int8), (*digits.shape[:3], *shape))
    stacks, moduli = residues.shape[:2]
    return OperandPlanes(device.upload(np.ascontiguousarray(planes)), stacks, moduli * octets, shape[0], shape[1])
