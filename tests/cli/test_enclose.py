"""Products of files: what is saved is the library's result, and what is refused leaves no file behind."""

import io
import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import exactla as xl
from exactla.cli import main, saving
from tests.oracle import same_bytes

A = np.array([[0.1, -2.5, 3e200], [1e-300, 7.0, 5e-324]])
B = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32) / 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", A)
    np.save("b.npy", B)
    np.save("complex.npy", A + 1j * A[::-1])
    np.save("stack.npy", np.stack([A, A + 1]))
    np.save("nan.npy", np.array([[1, 2], [np.nan, 4]]))
    (tmp_path / "big.csv").write_text(f"1,{10**40}\n-3,{10**40 + 1}\n")
    return tmp_path


def lines(capsys):
    """What is printed: label to text."""
    output, errors = capsys.readouterr()
    assert errors == ""
    return dict(line.split(maxsplit=1) for line in output.splitlines())


def refused(capsys, arguments, code=2):
    """The one line that a refused call prints."""
    before = sorted(os.listdir())
    assert main(["enclose", *arguments]) == code
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("exactla: error: ")
    assert errors.count("\n") == 1
    assert sorted(os.listdir()) == before
    return errors.removeprefix("exactla: error: ").rstrip()


def saved(name):
    with np.load(name) as archive:
        assert archive.files == ["lo", "hi"]
        return archive["lo"], archive["hi"]


# ---- results ------------------------------------------------------------------------------------------------------


def test_an_enclosure(folder, capsys):
    assert main(["enclose", "a.npy", "b.npy", "-o", "out.npz"]) == 0
    expected = xl.mm_enclose(A, B)
    same_bytes(saved("out.npz"), expected)
    printed = lines(capsys)
    assert printed["a"] == "2 x 3 float64, a.npy"
    assert printed["b"] == "3 x 2 float32, b.npy"
    assert printed["product"] == "2 x 2 float64, tightest enclosure"
    assert printed["width"] == "at most 1 ulp; 0 of 4 entries (0.0%) are exact, lo == hi"
    assert printed["digest"] == xl.digest(*expected)
    assert printed["plan"].startswith(("numpy/", "cpu/"))
    assert printed["saved"] == "out.npz: lo, hi"


def test_without_output(folder, capsys):
    before = sorted(os.listdir())
    assert main(["enclose", "a.npy", "b.npy"]) == 0
    assert "saved" not in lines(capsys)
    assert sorted(os.listdir()) == before


def test_the_digest_of_the_saved_file_is_the_printed_one(folder, capsys):
    main(["enclose", "a.npy", "b.npy", "-o", "out.npz"])
    digest = lines(capsys)["digest"]
    main(["digest", "--joint", "out.npz"])
    assert capsys.readouterr().out == f"{digest}  out.npz:lo out.npz:hi\n"


@pytest.mark.parametrize("file", ["a.npy", "complex.npy", "stack.npy", "big.csv"])
def test_gram(folder, capsys, file):
    assert main(["enclose", file, "--gram", "-o", "out.npz"]) == 0
    array = np.load(file) if file.endswith("npy") else np.array([[1, 10**40], [-3, 10**40 + 1]], dtype=object)
    same_bytes(saved("out.npz"), xl.mm_enclose(array))
    assert lines(capsys)["b"] == "a.T"


@pytest.mark.parametrize("rounding", ["nearest", "down", "up", "zero"])
@pytest.mark.parametrize("suffix", ["npy", "npz", "csv"])
def test_rounded(folder, capsys, rounding, suffix):
    assert main(["enclose", "a.npy", "b.npy", "--rounding", rounding, "-o", f"out.{suffix}"]) == 0
    expected = xl.mm(A, B, rounding=rounding)
    if suffix == "csv":
        same_bytes(np.loadtxt("out.csv", delimiter=","), expected)
    else:
        loaded = np.load(f"out.{suffix}")
        same_bytes(loaded if suffix == "npy" else loaded["product"], expected)
    printed = lines(capsys)
    assert printed["product"] == f"2 x 2 float64, rounded once, {rounding}"
    assert printed["digest"] == xl.digest(expected)
    assert "width" not in printed


def test_rounded_gram(folder):
    assert main(["enclose", "a.npy", "--gram", "--rounding", "up", "-o", "out.npy"]) == 0
    same_bytes(np.load("out.npy"), xl.mm(A, A.T, rounding="up"))


def test_big_integers(folder):
    assert main(["enclose", "big.csv", "big.csv", "-o", "out.npz"]) == 0
    big = np.array([[1, 10**40], [-3, 10**40 + 1]], dtype=object)
    same_bytes(saved("out.npz"), xl.mm_enclose(big, big))


def test_into_bfloat16(folder, capsys):
    assert main(["enclose", "a.npy", "b.npy", "--dtype", "bfloat16", "-o", "out.npz"]) == 0
    expected = xl.mm_enclose(A, B, dtype=ml_dtypes.bfloat16)
    same_bytes(saved("out.npz"), np.stack(expected).astype(np.float32))
    printed = lines(capsys)
    assert printed["saved"] == "out.npz: lo, hi, as float32: NumPy's files have no bfloat16"
    assert printed["digest"] == xl.digest(*expected)


def test_propagate(folder, capsys):
    assert main(["enclose", "nan.npy", "nan.npy", "--nonfinite", "propagate", "-o", "out.npz"]) == 0
    assert lines(capsys)["width"].endswith("; 3 NaN")
    array = np.load("nan.npy")
    expected = xl.mm_enclose(array, array, nonfinite="propagate")
    assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(saved("out.npz"), expected, strict=True))


@pytest.mark.parametrize("name", [e for b in xl.backends() for e in b.engines])
def test_engines_and_workspace_do_not_show(folder, capsys, name):
    backend = next(b.name for b in xl.backends() if name in b.engines)
    options = ["--backend", backend, "--engine", name, "--workspace", "1MiB"]
    assert main(["enclose", "a.npy", "b.npy", *options]) == 0
    printed = lines(capsys)
    assert printed["digest"] == xl.digest(*xl.mm_enclose(A, B))
    assert printed["plan"].startswith(f"{backend}/{name}")


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_a_bar_on_a_terminal(folder, monkeypatch, quiet):
    pytest.importorskip("tqdm")
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("exactla.cli.progress.DELAY", 0)
    monkeypatch.setattr("sys.stderr", terminal)
    assert main(["enclose", "a.npy", "b.npy", *quiet]) == 0
    assert ("multiplying" in terminal.getvalue()) == (not quiet)


# ---- refusals -----------------------------------------------------------------------------------------------------

REFUSED = {
    "no second": (["a.npy"], "give two matrices A B, or one with --gram"),
    "second and gram": (["a.npy", "b.npy", "--gram"], "give two matrices A B, or one with --gram"),
    "missing file": (["a.npy", "c.npy"], "c.npy: No such file or directory"),
    "shapes": (["a.npy", "a.npy"], "(2, 3) .*(a is a.npy, b is a.npy)"),
    "nan": (["nan.npy", "a.npy"], "nan.npy: the entry [1, 0] is not finite; --nonfinite propagate follows IEEE 754"),
    "nan second": (["b.npy", "nan.npy"], "nan.npy: the entry [1, 0] is not finite"),
    "nan gram": (["nan.npy", "--gram"], "nan.npy: the entry [1, 0] is not finite"),
    "nan rounded gram": (["nan.npy", "--gram", "--rounding", "up"], "nan.npy: the entry [1, 0] is not finite"),
    "complex dtype": (["a.npy", "b.npy", "--dtype", "complex64"], "complex64"),
    "real dtype": (["complex.npy", "b.npy", "--dtype", "float64"], "float64"),
    "integer dtype": (["a.npy", "b.npy", "--dtype", "int8"], "argument --dtype: invalid choice: 'int8'"),
    "rounding": (["a.npy", "b.npy", "--rounding", "off"], "argument --rounding: invalid choice: 'off'"),
    "backend": (["a.npy", "b.npy", "--backend", "abacus"], "'abacus'"),
    "engine": (["a.npy", "b.npy", "--engine", "beads"], "'beads'"),
    "workspace": (["a.npy", "b.npy", "--workspace", "much"], "argument --workspace: 'much' is not a size in bytes"),
    "abbreviation": (["a.npy", "b.npy", "--round", "up"], "unrecognized arguments: --round"),
    "output suffix": (["a.npy", "b.npy", "-o", "out.npy"], "out.npy: the name of this file must end in .npz"),
    "output folder": (["a.npy", "b.npy", "-o", "no/out.npz"], "no/out.npz: there is no folder"),
    "csv stack": (["stack.npy", "b.npy", "--rounding", "up", "-o", "x.csv"], "x.csv: a stack of matrices does not fit"),
    "csv complex": (
        ["complex.npy", "b.npy", "--rounding", "up", "-o", "x.csv"],
        "x.csv: a complex matrix does not fit",
    ),
}


@pytest.mark.parametrize(("arguments", "fault"), REFUSED.values(), ids=REFUSED)
def test_refusals(folder, capsys, arguments, fault):
    output = [] if "-o" in arguments else ["-o", "out.npz"]
    line = refused(capsys, [*arguments, *output])
    for part in fault.split(".*"):
        assert part in line


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long double is float64 here")
def test_a_format_that_exactla_does_not_know(folder, capsys):
    np.save("long.npy", A.astype(np.longdouble))
    assert "a is long.npy" in refused(capsys, ["long.npy", "b.npy", "-o", "out.npz"])


def test_a_workspace_that_is_too_small(folder, capsys):
    line = refused(capsys, ["a.npy", "b.npy", "--workspace", "8", "-o", "out.npz"], code=3)
    assert "of workspace and 8 are allowed; raise --workspace" in line


def test_a_bad_target_is_found_before_any_file_is_read(folder, capsys):
    assert "out.txt" in refused(capsys, ["missing.npy", "missing.npy", "-o", "out.txt"])


# ---- failures while writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (OSError(28, "No space left on device"), 3, "exactla: error: out.npz: not written: No space left on device\n"),
        (OSError(13, "Permission denied"), 2, "exactla: error: out.npz: not written: Permission denied\n"),
        (MemoryError(), 3, "exactla: error: out of memory\n"),
        (KeyboardInterrupt(), 130, "exactla: interrupted\n"),
    ],
)
def test_a_failure_while_writing_keeps_the_old_file(folder, capsys, monkeypatch, error, code, line):
    def half(stream, arrays):
        stream.write(b"half of it")
        raise error

    Path("out.npz").write_bytes(b"old")
    before = sorted(os.listdir())
    monkeypatch.setitem(saving._WRITERS, ".npz", half)
    assert main(["enclose", "a.npy", "b.npy", "-o", "out.npz"]) == code
    assert capsys.readouterr() == ("", line)
    assert sorted(os.listdir()) == before
    assert Path("out.npz").read_bytes() == b"old"


def test_an_old_file_is_replaced(folder):
    Path("out.npz").write_bytes(b"old")
    assert main(["enclose", "a.npy", "b.npy", "-o", "out.npz"]) == 0
    assert len(saved("out.npz")) == 2
