"""Files of arrays: every format gives the array back, and every kind of bad file is refused in one clear line."""

import io
import os
import pickle
import struct
import zipfile
from typing import Any

import numpy as np
import pytest

from exactla.cli.exits import InputError
from exactla.cli.loading import load, load_all

ARRAYS = {
    "float64": np.array([[1.5, -0.0], [5e-324, np.nan]]),
    "float16": np.array([[1, 2]], dtype=np.float16),
    "big_endian": np.array([[1.5, 2]], dtype=">f8"),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "uint64": np.array([[2**64 - 1]], dtype=np.uint64),
    "bool": np.array([[True, False]]),
    "complex": np.array([[1 + 2j]], dtype=np.complex64),
    "empty": np.empty((0, 3), dtype=np.float32),
    "scalar": np.array(3.0),
    "stack": np.ones((2, 3, 4), dtype=np.int8),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_npy_round_trip(folder, array):
    np.save("x.npy", array)
    assert same(load("x.npy").array, array)


@pytest.mark.parametrize("savez", [np.savez, np.savez_compressed])
def test_npz_round_trip(folder, savez):
    members: dict[str, Any] = dict(ARRAYS)
    savez("x.npz", **members)
    loaded = list(load_all("x.npz"))
    assert [item.name for item in loaded] == [f"x.npz:{name}" for name in ARRAYS]
    assert all(same(item.array, array) for item, array in zip(loaded, ARRAYS.values(), strict=True))
    for name, array in ARRAYS.items():
        assert same(load(f"x.npz:{name}").array, array)
        assert [item.name for item in load_all(f"x.npz:{name}")] == [f"x.npz:{name}"]


def test_the_only_array_needs_no_name(folder):
    np.savez("x.npz", some=np.eye(2))
    assert same(load("x.npz").array, np.eye(2))


def test_names_with_colons_and_upper_case(folder):
    with open("X.NPZ", "wb") as stream:
        members: dict[str, Any] = {"a:b": np.eye(2), "c": np.eye(3)}
        np.savez(stream, **members)
    assert load("X.NPZ:a:b").array.shape == (2, 2)
    assert [item.array.shape for item in load_all("X.NPZ")] == [(2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("x.npz", "x.npz: holds the arrays lo, hi; name one as x.npz:NAME"),
        ("x.npz:mid", "x.npz: there is no array 'mid'; it holds the arrays lo, hi"),
        ("x.npz:", "x.npz: there is no array ''; it holds the arrays lo, hi"),
    ],
)
def test_npz_names(folder, name, fault):
    np.savez("x.npz", lo=np.eye(2), hi=np.eye(2))
    with pytest.raises(InputError) as caught:
        load(name)
    assert str(caught.value) == fault


def test_a_header_of_the_second_version(folder):
    with open("x.npy", "wb") as stream:
        np.lib.format.write_array(stream, np.eye(2), version=(2, 0))
    assert same(load("x.npy").array, np.eye(2))


# ---- bad files ----------------------------------------------------------------------------------------------------


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def npz(**arrays):
    stream = io.BytesIO()
    members: dict[str, Any] = arrays
    np.savez(stream, **members)
    return stream.getvalue()


def zipped(name, data):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, data)
    return stream.getvalue()


def npy_header(text):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


class Bomb:
    """Unpickled, it leaves a file behind."""

    def __reduce__(self):
        return os.mkdir, ("exploded",)


OBJECTS = np.array([[1, 10**30]], dtype=object)
VALID_NPY = npy(np.arange(100.0))
VALID_NPZ = npz(x=np.arange(100.0))

BAD = {
    "npy: empty": ("x.npy", b"", "the file is empty"),
    "npz: empty": ("x.npz", b"", "the file is empty"),
    "csv: empty": ("x.csv", b"", "the file is empty"),
    "mtx: empty": ("x.mtx", b"", "the file is empty"),
    "npy: short magic": ("x.npy", b"\x93NUM", "is not a .npy file"),
    "npy: data cut": ("x.npy", VALID_NPY[:-1], r"damaged: 800 bytes of float64 in the shape \(100,\) .* 799"),
    "npy: data lost": ("x.npy", VALID_NPY[:128], "800 bytes .* were written, 0 are left"),
    "npy: header cut": ("x.npy", VALID_NPY[:60], "is damaged"),
    "npy: vast shape": (
        "x.npy",
        npy_header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n") + bytes(64),
        "8,000,000,000,000 bytes .* were written, 64 are left",
    ),
    "npy: negative": ("x.npy", npy_header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}\n"), "is damaged"),
    "npy: header is code": ("x.npy", npy_header(b"__import__('os').mkdir('exploded')\n"), "is damaged"),
    "npy: vast header": ("x.npy", npy_header(b"(" * 60_000), "is damaged: Header info length"),
    "npy: version": ("x.npy", b"\x93NUMPY\x09\x00" + VALID_NPY[8:], "is damaged"),
    "npy: is a pickle": ("x.npy", pickle.dumps(Bomb()), "is not a .npy file"),
    "npy: is text": ("x.npy", b"1,2,3,4,5\n", "is not a .npy file"),
    "npy: is an npz": ("x.npy", VALID_NPZ, "is not a .npy file"),
    "npy: objects": ("x.npy", npy(OBJECTS), "holds pickled Python objects, which are not read"),
    "npy: bomb": ("x.npy", npy(np.array([Bomb()])), "holds pickled Python objects, which are not read"),
    "npy: text array": ("x.npy", npy(np.array([["a"]])), "its dtype <U1 is not a number format$"),
    "npy: dates": ("x.npy", npy(np.array(["2020-01-01"], dtype="M8[D]")), "dtype datetime64.* is not a number format"),
    "npy: fields": ("x.npy", npy(np.zeros(2, dtype=[("x", "f8")])), "is not a number format"),
    "npy: raw bytes": ("x.npy", npy(np.zeros(2, dtype="V2")), r"dtype \|V2 is not .*; save bfloat16 .* as float32"),
    "npz: is an npy": ("x.npz", VALID_NPY, "is not an .npz archive"),
    "npz: is a pickle": ("x.npz", pickle.dumps(Bomb()), "is not an .npz archive"),
    "npz: end lost": ("x.npz", VALID_NPZ[:-30], "is not an .npz archive, or its end is missing"),
    "npz: data spoilt": ("x.npz", VALID_NPZ.replace(np.float64(7).tobytes(), b"\1" * 8), "is damaged: Bad CRC-32"),
    "npz: no arrays": ("x.npz", zipped("a/", b""), "is not an array"),
    "npz: not arrays": ("x.npz", zipped("x.txt", b"hello"),  ":x.txt: is not an array"),
    "npz: objects": ("x.npz", npz(x=OBJECTS), "holds pickled Python objects"),
    "npz: bomb": ("x.npz", npz(x=np.array([Bomb()])), "holds pickled Python objects"),
    "csv: header": ("x.csv", b"a,b\n1,2\n", "line 1: 'a' is not a number"),
    "csv: ragged": ("x.csv", b"1,2\n3\n", "line 2 has 1 entry"),
    "mtx: no banner": ("x.mtx", b"1 1 1\n", "is damaged: Line 1: Not a Matrix Market file"),
    "mtx: cut": ("x.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 5\n", "Truncated file"),
    "mtx: bad line": ("x.mtx", b"%%MatrixMarket matrix array real general\n1 1\nx\n", "line 3: 'x' is not an entry"),
    "suffix": ("x.txt", b"1,2\n", "files are read by their suffix, one of .npy, .npz, .mtx, .csv"),
    "no suffix": ("x", b"1,2\n", "files are read by their suffix"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "data", "fault"), BAD.values(), ids=BAD)
def test_bad_files(folder, name, data, fault):
    (folder / name).write_bytes(data)
    with pytest.raises(InputError, match=f"^{name}.*{fault}") as caught:
        load(name)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError):
        list(load_all(name))
    assert not (folder / "exploded").exists()


@pytest.mark.parametrize("suffix", ["npy", "npz", "mtx", "csv"])
def test_missing_folder_and_pipe(folder, suffix):
    name = f"x.{suffix}"
    with pytest.raises(InputError, match=f"^{name}: No such file"):
        load(name)
    (folder / name).mkdir()
    with pytest.raises(InputError, match=f"^{name}: is not a regular file"):
        load(name)
    (folder / name).rmdir()
    os.mkfifo(name)  # opening it would wait for ever
    with pytest.raises(InputError, match=f"^{name}: is not a regular file"):
        load(name)


def test_unreadable(folder, monkeypatch):
    np.save("x.npy", np.eye(2))
    os.chmod("x.npy", 0)
    if os.access("x.npy", os.R_OK):  # as root
        monkeypatch.setattr("builtins.open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    with pytest.raises(InputError, match=r"^x\.npy: Permission denied"):
        load("x.npy")
