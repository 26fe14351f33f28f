"""Digests of arrays: equal for equal values, whatever the library, device, strides or byte order."""

import hashlib
from typing import Any

import numpy as np

from exactla.arrays import Source, read
from exactla.encodings import nan_mask
from exactla.formats import BOOL, BigIntegerFormat, FloatFormat
from exactla.libraries.base import HostArray, Part

BITS_VERSION = 2
"""Changes whenever a byte of any result may change."""


def digest(*arrays: Any) -> str:
    r"""SHA-256 over the canonical bytes of arrays.

    Parameters
    ----------
    *arrays : array
        Arrays of supported types, of any libraries and devices, and `MPArray`.

    Returns
    -------
    str
        64 hexadecimal digits: the same for the same types, shapes and values.

    Raises
    ------
    TypeError
        An argument is no supported array.

    Notes
    -----
    The bytes are ``b"exactla-digest-1\n"`` and then, for each array, a line of its type's name, its number of
    dimensions and its shape, followed by the entries in C order: floats and integers as little-endian encodings (every
    NaN as the format's canonical one), bool as a byte, complex as real and imaginary part, Python integers as
    decimal lines. For an `MPArray` the line also holds the exponent and the number of limbs of its normal form, whose
    limbs follow as little-endian words.

    Examples
    --------
    >>> import numpy as np
    >>> import exactla as xl
    >>> x = np.arange(6.0).reshape(2, 3)
    >>> xl.digest(x) == xl.digest(np.asfortranarray(x))
    True
    """
    total = hashlib.sha256(b"exactla-digest-1\n")
    for number, array in enumerate(arrays):
        own: Any = getattr(type(array), "_canonical_bytes", None)
        if own is not None:
            total.update(own(array))
            continue
        source = read(array, f"argument {number + 1}")
        header = " ".join(map(str, (_type_name(source), len(source.shape), *source.shape)))
        total.update(f"{header}\n".encode())
        total.update(_entries(source))
    return total.hexdigest()


def _type_name(source: Source) -> str:
    if source.complex:
        return "complex64" if source.format.name == "float32" else "complex128"
    return source.format.name


def _entries(source: Source) -> bytes:
    if not source.complex:
        return _canonical(source, "real")
    real, imag = (np.frombuffer(_canonical(source, part), np.uint8) for part in ("real", "imag"))
    width = source.format.bits // 8 if isinstance(source.format, FloatFormat) else 1
    return np.stack([real.reshape(-1, width), imag.reshape(-1, width)], axis=1).tobytes()


def _canonical(source: Source, part: Part) -> bytes:
    encodings: HostArray = source.library.host_encodings(source, part)
    format = source.format
    if isinstance(format, BigIntegerFormat):
        from gmpy2 import mpz  # prints integers that Python refuses to

        return "".join(f"{mpz(v).digits()}\n" for v in encodings.flat).encode()
    if format == BOOL:
        return encodings.astype(np.uint8).tobytes()
    if isinstance(format, FloatFormat):
        encodings = _canonical_nan(encodings, format)
    return encodings.astype(encodings.dtype.newbyteorder("<"), copy=False).tobytes()


def _canonical_nan(encodings: HostArray, format: FloatFormat) -> HostArray:
    nan = nan_mask(encodings, format)
    return np.where(nan, encodings.dtype.type(format.nan), encodings) if nan.any() else encodings
