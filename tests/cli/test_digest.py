"""Lines of digests, as sha256sum prints them."""

import hashlib

import numpy as np
import pytest

import exactla as xl
from exactla.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.eye(2))
    np.savez("y.npz", lo=np.asfortranarray([[1.5, 2]]), hi=np.array([[3]], np.int8))
    (tmp_path / "z.csv").write_text(f"1,{2**70}\n")
    return tmp_path


def test_lines(folder, capsys):
    assert main(["digest", "x.npy", "y.npz", "z.csv", "y.npz:hi"]) == 0
    arrays = {
        "x.npy": np.eye(2),
        "y.npz:lo": np.array([[1.5, 2]]),
        "y.npz:hi": np.array([[3]], np.int8),
        "z.csv": np.array([[1, 2**70]], dtype=object),
    }
    lines = [f"{xl.digest(array)}  {name}" for name, array in arrays.items()]
    assert capsys.readouterr().out.splitlines() == [*lines, lines[2]]


def test_canonical_bytes(folder, capsys):
    main(["digest", "x.npy"])
    entries = np.array([1, 0, 0, 1], "<f8").tobytes()
    expected = hashlib.sha256(b"exactla-digest-1\nfloat64 2 2 2\n" + entries).hexdigest()
    assert capsys.readouterr().out == f"{expected}  x.npy\n"


def test_joint(folder, capsys):
    assert main(["digest", "--joint", "x.npy", "y.npz"]) == 0
    expected = xl.digest(np.eye(2), np.array([[1.5, 2]]), np.array([[3]], np.int8))
    assert capsys.readouterr().out == f"{expected}  x.npy y.npz:lo y.npz:hi\n"


def test_a_bad_file_does_not_keep_the_others(folder, capsys):
    assert main(["digest", "missing.npy", "x.npy"]) == 2
    output, errors = capsys.readouterr()
    assert output == f"{xl.digest(np.eye(2))}  x.npy\n"
    assert errors == "exactla: error: missing.npy: No such file or directory\n"


def test_joint_is_all_or_nothing(folder, capsys):
    assert main(["digest", "--joint", "x.npy", "missing.npy"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long double is float64 here")
def test_a_format_that_exactla_does_not_know(folder, capsys):
    np.save("x.npy", np.ones(2, np.longdouble))
    assert main(["digest", "x.npy"]) == 2
    assert capsys.readouterr().err.startswith("exactla: error: x.npy: ")


def test_the_same_digest_from_every_format(folder, capsys):
    pytest.importorskip("scipy")
    array = np.array([[0.1, -2.5], [3, 4]])
    np.save("a.npy", array)
    np.savez("a.npz", array)
    (folder / "a.csv").write_text("0.1,-2.5\n3,4\n")
    (folder / "a.mtx").write_text("%%MatrixMarket matrix array real general\n2 2\n0.1\n3\n-2.5\n4\n")
    assert main(["digest", "a.npy", "a.npz", "a.csv", "a.mtx"]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {xl.digest(array)}
