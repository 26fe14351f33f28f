"""How the tests of the verbs look into the buffers of a backend; one entry for each backend that they run on.

Everything else about a buffer stays opaque: operands are made by `view` and `scan`, planes by `residues` and
`multiply`, so that a new backend needs one line here to be tested whole.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings

from exactla import registry
from exactla.arrays import read
from exactla.backend import Backend, Engine, Operand, Scanned
from exactla.core.moduli import ResidueBase
from exactla.formats import FLOAT_FORMATS, FloatFormat


@dataclass(frozen=True)
class Device:
    """A backend, and the ways into and out of its buffers of integers."""

    backend: Backend
    download: Callable[[Any], Any]  # exponents or planes of results, as a NumPy array of integers
    download_operand: Callable[[Any, ResidueBase], Any]  # planes of operands likewise, with any padding
    upload: Callable[[Any], Any]  # exponents, from a NumPy array of int64
    smallest_modulus: int = 2
    copies_host_arrays: bool = False  # so that it does not see what is written to them after their view
    octet_bits: int | None = None  # the widest entries that moduli up to 256 take, where there is a limit

    def operand(self, array: Any, *, part: Any = "real", transpose: bool = False) -> Operand:
        """An array as the backend sees it."""
        return self.backend.view(read(array, "x"), part=part, transpose=transpose)

    def scan(self, *arrays: Any) -> Scanned:
        """Arrays that share their rows' exponents."""
        return self.backend.scan([[self.operand(a) for a in arrays]])[0]

    def base(self, limit: int, bits: int) -> ResidueBase:
        """As `base_for`, of moduli that an engine of this backend takes."""
        return base_for(min(limit, self.largest_modulus), bits)

    @property
    def largest_modulus(self) -> int:
        return max(limit for _, limit in engine_cases(self.backend))

    def takes(self, operand: Operand, base: ResidueBase) -> bool:
        """Whether the backend makes residues of such entries: a base that determines them is not refused."""
        return self.octet_bits is None or max(base.moduli) > 256 or operand.bits <= self.octet_bits

    def operand_planes(self, planes: Any, base: ResidueBase, shape: tuple[int, ...]) -> Any:
        """Residues [P, *shape] of an operand, whose padding has to be of zeros."""
        found = self.download_operand(planes, base)
        inside = found[(slice(None), *(slice(0, n) for n in shape))]
        if np.count_nonzero(found) != np.count_nonzero(inside):
            raise AssertionError("residues are padded with something else than zeros")
        return inside

    def residues(self, numbers: Any, base: ResidueBase, engine: Engine) -> Any:
        """Planes, as the right or left side of a product, of Python integers [S, R, K]."""
        (operand,) = self.scan(objects(numbers)).operands
        planes, broken = self.backend.residues(operand, base, engine)
        if self.backend.total([broken]):
            raise AssertionError("integers broke their own scan")
        return planes

    def planes(self, numbers: Any, base: ResidueBase) -> Any:
        """Planes, as of a result, of Python integers [T, R, C]."""
        numbers = objects(numbers)
        pairs, rows, columns = numbers.shape
        engine = engine_for(self.backend, base)
        unit = self.residues(np.eye(min(rows, columns), dtype=int)[None], base, engine)
        if rows < columns:
            right = self.residues(np.swapaxes(numbers, 1, 2), base, engine)
            return self.backend.multiply([(1, unit, right)], ([0] * pairs, range(pairs)), base, engine)
        left = self.residues(numbers, base, engine)
        return self.backend.multiply([(1, left, unit)], (range(pairs), [0] * pairs), base, engine)

    def exponents(self, values: Any) -> Operand:
        """An operand of rows with these exponents [S, R], as `round` reads it."""
        values = np.asarray(values, np.int64)
        (operand,) = self.scan(np.zeros((*values.shape, 1))).operands
        return operand._replace(exponents=self.upload(values))

    def integers(self, operand: Operand) -> Any:
        """The entries of a scanned operand, or of a piece, in units of their rows' exponents, as Python integers."""
        narrow = self.backend.engines[0].modulus_limits[0]
        base = base_for(narrow, operand.bits) if operand.bits < 300 else self.base(1 << 22, operand.bits)
        planes, broken = self.backend.residues(operand, base, self.backend.engines[0])
        if self.backend.total([broken]):
            raise AssertionError("entries broke their scan")
        return from_residues(self.operand_planes(planes, base, operand.shape), base)

    def encodings(self, result: Any, format: FloatFormat, shape: tuple[int, ...]) -> Any:
        """A buffer of encodings as an array of unsigned integers."""
        source = read(np.zeros(1, float_dtype(format.name)), "x")
        return self.backend.restore([result], format, shape, source).view(f"u{format.bits // 8}")


def _from_cpu(buffer: Any) -> Any:
    from exactla_backends.cpu.residues import residues_of

    if isinstance(buffer, np.ndarray):
        return buffer
    found = residues_of(buffer)
    return found.planes[..., : found.columns].swapaxes(0, 1)


def _operand_from_cpu(buffer: Any, base: ResidueBase) -> Any:
    planes = buffer.planes.swapaxes(0, 1).astype(np.int64)
    # moduli above 256 have a high and a low digit
    return planes if len(planes) == len(base.moduli) else 256 * planes[::2] + planes[1::2]


def _device_memory(memory: Any, dtype: Any, shape: tuple[int, ...], backend: str) -> Any:
    device: Any = registry.load(backend)
    return device._device.download(memory, np.dtype(dtype), shape)


def _from_device(buffer: Any, backend: str) -> Any:
    from exactla_backends.device.planes import Rows

    if isinstance(buffer, Rows):
        stacks, rows = buffer.shape
        length = buffer.offset + (stacks - 1) * buffer.stride + rows if buffer.shape[0] and rows else 0
        found = _device_memory(buffer.memory, np.int64, (length,), backend)
        index = buffer.offset + buffer.stride * np.arange(stacks)[:, None] + np.arange(rows)
        return found[index] if length else np.zeros(buffer.shape, np.int64)
    pairs, rows, columns = buffer.shape
    shape = (pairs, buffer.moduli, rows, buffer.padded_columns)
    return _device_memory(buffer.memory, f"i{buffer.octets}", shape, backend)[..., :columns].swapaxes(0, 1)


def _operand_from_device(buffer: Any, base: ResidueBase, backend: str) -> Any:
    shape = (buffer.stacks, buffer.planes, buffer.rows, buffer.depth)
    planes = _device_memory(buffer.memory, np.int8, shape, backend).swapaxes(0, 1).astype(np.int64)
    return planes if len(planes) == len(base.moduli) else 256 * planes[::2] + planes[1::2]


def _to_device(values: Any, backend: str) -> Any:
    from exactla_backends.device.planes import Rows

    values = np.ascontiguousarray(values, np.int64)
    device: Any = registry.load(backend)
    return Rows(device._device.upload(values), 0, values.shape[1], values.shape)


def _device_ways(backend: str) -> dict[str, Any]:
    """Of a backend that is made of a `Device`."""
    return {
        "download": partial(_from_device, backend=backend),
        "download_operand": partial(_operand_from_device, backend=backend),
        "upload": partial(_to_device, backend=backend),
        "smallest_modulus": 3,
        "copies_host_arrays": True,
        "octet_bits": 500,
    }


_WAYS: dict[str, dict[str, Any]] = {
    "numpy": {
        "download": np.asarray,
        "download_operand": lambda planes, base: np.asarray(planes),
        "upload": np.asarray,
    },
    # 16 limbs of 32 bits, three bits of which are spare; no base of moduli up to 256 holds more than 360 bits
    "cpu": {
        "download": _from_cpu,
        "download_operand": _operand_from_cpu,
        "upload": np.asarray,
        "smallest_modulus": 3,
        "octet_bits": 500,
    },
    "cuda": _device_ways("cuda"),
    "sycl": _device_ways("sycl"),
}


def open_device(name: str) -> Device:
    """The device of a backend that the registry knows."""
    if name not in _WAYS:
        raise LookupError(f"say in {__file__} how to read a buffer of backend {name!r}")
    return Device(registry.load(name), **_WAYS[name])


with_device = settings(
    # a device keeps nothing from one example to the next
    deadline=None,
    max_examples=40,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


# ---- numbers -------------------------------------------------------------------------------------------------------


_INTEGERS = np.frompyfunc(int, 1, 1)


def objects(numbers: Any) -> Any:
    """An object array of Python integers."""
    numbers = np.asarray(
        numbers, dtype=object
    )  # which makes Python integers of NumPy's, but leaves objects as they are
    return np.asarray(_INTEGERS(numbers), object).reshape(numbers.shape)


def float_dtype(name: str) -> Any:
    """The NumPy type of a float format, from ml_dtypes where NumPy has none."""
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, name))


def every_encoding(name: str) -> Any:
    """All values of a format of 8 or 16 bits, in the order of their encodings."""
    bits = FLOAT_FORMATS[name].bits
    return np.arange(1 << bits, dtype=f"u{bits // 8}").view(float_dtype(name))


# ---- residues ------------------------------------------------------------------------------------------------------


def base_for(limit: int, bits: int) -> ResidueBase:
    """The largest primes up to `limit` whose product is above 2**(bits + 3): no code is shared with exactla."""
    chosen: list[int] = []
    candidate = limit
    while prod(chosen) <= 1 << (bits + 3):
        if candidate < 2:
            raise AssertionError(f"no primes up to {limit} for {bits} bits")
        if is_prime(candidate):
            chosen.append(candidate)
        candidate -= 1
    return ResidueBase(tuple(chosen))


def is_prime(n: int) -> bool:
    """By trial division: n is below 2**22."""
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def from_residues(planes: Any, base: ResidueBase) -> Any:
    """The integers nearest to 0 with these residues [P, ...]."""
    modulus = prod(base.moduli)
    total = np.zeros(planes.shape[1:], dtype=object)
    for residue, m in zip(planes, base.moduli, strict=True):
        rest = modulus // m
        total = total + objects(residue) * (rest * pow(rest, -1, m))
    total = total % modulus
    return objects(np.where(2 * total > modulus, total - modulus, total))


def assert_residues(planes: Any, numbers: Any, base: ResidueBase) -> None:
    """Fail unless planes [P, ...] are the centred residues of Python integers [...]."""
    numbers = objects(numbers)
    if planes.shape != (len(base.moduli), *numbers.shape):
        raise AssertionError(f"planes of shape {planes.shape} for integers of shape {numbers.shape}")
    for plane, m in zip(planes, base.moduli, strict=True):
        found = objects(plane)
        if ((found - numbers) % m).any():
            raise AssertionError(f"not congruent modulo {m}")
        if (2 * abs(found) > m).any():
            raise AssertionError(f"not centred modulo {m}")


def engine_for(backend: Backend, base: ResidueBase) -> Engine:
    """The first engine that takes the moduli of a base."""
    return next(e for e in backend.engines if max(base.moduli) <= max(e.modulus_limits))


def engine_cases(backend: Backend) -> list[tuple[Engine, int]]:
    """Each engine with each upper limit of its moduli."""
    return [(engine, limit) for engine in backend.engines for limit in engine.modulus_limits]
