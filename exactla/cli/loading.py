"""Reads matrices from .npy, .npz, Matrix Market and CSV files, without pickle and without changing a value.

The one exception is decimal text, which becomes the nearest float64. Every fault of a file is an `InputError` that
names the file and, in text files, the line.
"""

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from exactla.cli.csv_file import read_csv
from exactla.cli.exits import InputError
from exactla.cli.mtx_file import read_mtx

Array = npt.NDArray[Any]

SUFFIXES = (".npy", ".npz", ".mtx", ".csv")
_MEMBER = ".npz:"


@dataclass(frozen=True)
class NamedArray:
    """An array and what to call it: the file, with the name inside it where there are several."""

    name: str
    array: Array


def load(text: str) -> NamedArray:
    """The one array that ``FILE`` or ``FILE.npz:NAME`` stands for.

    Raises
    ------
    InputError
        The file cannot be read, or is an .npz with several arrays and none was named.
    """
    path, member = _split(text)
    if path.suffix.lower() != ".npz":
        return NamedArray(text, _load_single(path))
    with _open_npz(path) as archive:
        names = archive.files
        if member is None and len(names) != 1:
            raise InputError(f"{path}: holds {_listed(names)}; name one as {path}:NAME")
        name = names[0] if member is None else member
        if name not in names:
            raise InputError(f"{path}: there is no array {name!r}; it holds {_listed(names)}")
        return NamedArray(text, _numbers(archive[name], f"{path}:{name}"))


def load_all(text: str) -> Iterator[NamedArray]:
    """Every array of a file, an .npz in the order in which it was written; or the one named."""
    path, member = _split(text)
    if path.suffix.lower() != ".npz" or member is not None:
        yield load(text)
        return
    with _open_npz(path) as archive:
        for name in archive.files:
            yield NamedArray(f"{text}:{name}", _numbers(archive[name], f"{path}:{name}"))


def _split(text: str) -> tuple[Path, str | None]:
    """The path and the name of the member: ``x.npz:lo`` is ("x.npz", "lo")."""
    position = text.lower().rfind(_MEMBER)
    if position < 0:
        return Path(text), None
    end = position + len(_MEMBER)
    return Path(text[: end - 1]), text[end:]


def _listed(names: list[str]) -> str:
    return f"the arrays {', '.join(names)}" if names else "no arrays"


def _load_single(path: Path) -> Array:
    with _reading(path) as stream:
        match path.suffix.lower():
            case ".npy":
                _check_npy_size(stream, path)
                return _numbers(np.lib.format.read_array(stream, allow_pickle=False), str(path))
            case ".csv":
                return read_csv(stream, str(path))
            case _:
                return _numbers(read_mtx(stream, str(path)), str(path))


@contextmanager
def _open_npz(path: Path) -> Iterator[Any]:
    with _reading(path) as stream:
        if not zipfile.is_zipfile(stream):
            raise InputError(f"{path}: is not an .npz archive, or its end is missing")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            yield archive


@contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    """The open file; what NumPy and the system find wrong with it becomes an `InputError`."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: files are read by their suffix, one of {', '.join(SUFFIXES)}")
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise InputError(f"{path}: is not a regular file")
        with open(path, "rb") as stream:
            if not stream.read(1):
                raise InputError(f"{path}: the file is empty")
            stream.seek(0)
            yield stream
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except (ValueError, EOFError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: {_explain(error, path)}") from error


def _explain(error: Exception, path: Path) -> str:
    text = str(error).partition("\n")[0]
    if text.startswith("Object arrays"):
        return "holds pickled Python objects, which are not read: they can run code"
    if "magic string" in text:
        return f"is not a {path.suffix.lower()} file"
    return f"is damaged: {text or type(error).__name__}"


def _check_npy_size(stream: BinaryIO, path: Path) -> None:
    """Compare what the header promises with the size of the file before memory is taken for it."""
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(stream)
    stored = os.fstat(stream.fileno()).st_size - stream.tell()
    stream.seek(0)
    promised = dtype.itemsize
    for length in shape:
        promised *= length
    if not dtype.hasobject and stored < promised:
        raise InputError(
            f"{path}: is damaged: {promised:,} bytes of {dtype} in the shape {shape} were written, {stored:,} are left"
        )


def _numbers(array: Any, name: str) -> Array:
    if not isinstance(array, np.ndarray):
        raise InputError(f"{name}: is not an array")
    if array.dtype.kind not in "biufc":
        raise InputError(
            f"{name}: its dtype {array.dtype} is not a number format"
            + ("; save bfloat16 and float8 arrays as float32, which holds their values" * (array.dtype.kind == "V"))
        )
    return array
