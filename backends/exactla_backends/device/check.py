"""The self-check of a device's matrix units: the longest sums of the largest residues, of either sign."""

import numpy as np

from exactla.backend import Engine
from exactla.core.moduli import ResidueBase
from exactla_backends.device.device import Device, HostArray
from exactla_backends.device.matrix import Matrix
from exactla_backends.device.planes import DEPTH, OperandPlanes, octets_of, padded

ROWS, COLUMNS = 3, 5


def extreme_products_are_exact(device: Device, matrix: Matrix, engine: Engine, modulus_limit: int) -> bool:
    """Whether products of residues at the bound are congruent to their sums, and centred."""
    bounds = ResidueBase((modulus_limit, modulus_limit - 1))
    depth = padded(matrix.longest(engine, modulus_limit), DEPTH)
    left = np.array([-(m // 2) for m in bounds.moduli])
    right = np.array([[-(m // 2), (m - 1) // 2] for m in bounds.moduli])
    a = _filled(device, bounds, left[:, None], ROWS, depth)
    b = _filled(device, bounds, right, COLUMNS, depth)
    found = matrix.multiply([(1, a, b), (-1, a, b), (1, a, b)], ([0, 0], [0, 1]), bounds, engine)
    shape = (2, len(bounds.moduli), ROWS, found.padded_columns)
    planes = device.download(found.memory, np.dtype(f"i{found.octets}"), shape)[..., :COLUMNS].astype(np.int64)
    moduli = np.array(bounds.moduli)[None, :, None, None]
    wanted = (left[:, None] * right * depth).T[:, :, None, None]
    centred = (2 * planes >= -moduli) & (2 * planes <= moduli)
    return bool((((planes - wanted) % moduli == 0) & centred).all())


def _filled(device: Device, base: ResidueBase, values: HostArray, rows: int, depth: int) -> OperandPlanes:
    """Planes of matrices s whose entries all are values[p, s]."""
    octets, stacks = octets_of(base), values.shape[1]
    low = (values + 128) % 256 - 128 if octets == 2 else values
    digits = np.stack([(values - low) // 256, low], axis=1) if octets == 2 else values[:, None]
    flat = digits.reshape(-1, stacks).T.astype(np.int8)
    planes = np.broadcast_to(flat[:, :, None, None], (*flat.shape, rows, depth))
    return OperandPlanes(device.upload(np.ascontiguousarray(planes)), stacks, flat.shape[1], rows, depth)
