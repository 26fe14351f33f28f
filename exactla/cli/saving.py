"""Writes arrays to files so that a file is either the old one or the whole new one, never a part.

A file is written under a temporary name in its own folder and renamed when it is complete and on the disk.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from exactla.cli.exits import InputError, OutputError

Arrays = Mapping[str, npt.NDArray[Any]]


def check_target(path: Path, suffixes: Sequence[str]) -> None:
    """Refuse, before any work is done, a file that could not be written at its end.

    Raises
    ------
    InputError
        The suffix is not one of `suffixes`, the folder is missing or may not be written to, or something that is not
        a regular file has that name.
    """
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: the name of this file must end in {' or '.join(suffixes)}")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InputError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path}: the folder {folder} may not be written to")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: exists and is not a regular file")


def save(path: Path, arrays: Arrays) -> None:
    """Write arrays to a .npz file, or the only one to a .npy or .csv file, replacing an old file at once.

    Formats that NumPy's files do not know (bfloat16, float8) are saved as float32, which holds each of their values.

    Raises
    ------
    OutputError
        The file could not be written; an old one is as it was.
    """
    widened = {name: storable(array) for name, array in arrays.items()}
    with _explained(path), replacing(path) as stream:
        _WRITERS[path.suffix.lower()](stream, widened)


def save_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines of text to a file, replacing an old one at once; raises as `save` does."""
    with _explained(path), replacing(path) as stream:
        stream.writelines(line.encode() + b"\n" for line in lines)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Have errors of the system name the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(error.errno or errno.EIO, f"not written: {reason}", str(path)) from error


def storable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in a dtype that a .npy file can hold: itself, or float32 with the same values."""
    if array.dtype.isbuiltin == 1:
        return array
    with np.errstate(invalid="ignore"):  # a NaN is a value here
        return array.astype(np.float32)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file `path` when the block ends well, and vanish when it does not.

    A symbolic link is followed: what it points to is replaced. A new file has the permissions of any new file, a
    replaced one keeps its own.
    """
    target = path.resolve()
    temporary = target.parent / f".exactla-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def _write_npz(stream: BinaryIO, arrays: Arrays) -> None:
    members: dict[str, Any] = dict(arrays)
    np.savez(stream, **members)


def _write_npy(stream: BinaryIO, arrays: Arrays) -> None:
    (array,) = arrays.values()
    np.save(stream, array, allow_pickle=False)


def _write_csv(stream: BinaryIO, arrays: Arrays) -> None:
    """Each value as the shortest decimal that float64 reads back as it: exact for every real format."""
    (array,) = arrays.values()
    stream.writelines(",".join(repr(float(entry)) for entry in row).encode() + b"\n" for row in np.atleast_2d(array))


_WRITERS: Mapping[str, Callable[[BinaryIO, Arrays], None]] = {
    ".npz": _write_npz,
    ".npy": _write_npy,
    ".csv": _write_csv,
}
