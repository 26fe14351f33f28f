"""Factorisations of matrices in files: what is saved are the library's factors and solution."""

import numpy as np
import pytest

import exactla as xl
from exactla.cli import main

pytest.importorskip("exactla.factoring")

MATRIX = [[2.0, 1.0], [1.0, 3.0]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.array(MATRIX))
    np.save("b.npy", np.array([1.5, 2]))
    np.save("singular.npy", np.ones((2, 2)))
    np.save("nan.npy", np.array([[1, np.nan], [0, 1]]))
    np.save("wide.npy", np.ones((2, 3)))
    return tmp_path


def described(output):
    return dict(line.split("  ", 1) for line in output.splitlines())


def test_factors_are_described_and_saved(folder, capsys):
    assert main(["lu", "a.npy", "--precision", "200", "-o", "f.npz"]) == 0
    lines = {name: value.strip() for name, value in described(capsys.readouterr().out).items()}
    factors = xl.lu_factor(MATRIX, precision=200)
    assert lines["det"] == factors.det().to_strings(25).item()
    assert lines["digest"] == xl.digest(factors.perm, factors.L, factors.U)
    with np.load("f.npz") as saved:
        assert (saved["perm"] == factors.perm).all()
        assert (saved["lower"] == factors.L.limbs).all()
        assert (saved["upper"] == factors.U.limbs).all()
        assert saved["exponents"].tolist() == [factors.L.exponent, factors.U.exponent]
        assert (saved["row_exponents"] == factors.row_exponents).all()


def test_the_solution_is_described_and_saved(folder, capsys):
    assert main(["lu", "a.npy", "b.npy", "--precision", "200", "-o", "x.csv"]) == 0
    lines = {name: value.strip() for name, value in described(capsys.readouterr().out).items()}
    x = xl.lu_factor(MATRIX, precision=200).solve([1.5, 2])
    assert lines["digest of x"] == xl.digest(x)
    assert lines["first"] == x[0].to_strings(25).item()
    assert (folder / "x.csv").read_text().split() == x.to_strings(60).tolist()


def test_the_precision_is_found(folder, capsys):
    assert main(["lu", "a.npy", "--precision", "auto"]) == 0
    lines = {name: value.strip() for name, value in described(capsys.readouterr().out).items()}
    factors = xl.lu_factor(MATRIX, precision="auto")
    assert lines["L, U"] == f"2 x 2, {factors.precision} bits after the point"


def test_digits_ask_for_more_precision(folder, capsys):
    assert main(["lu", "a.npy", "--precision", "auto", "--digits", "60"]) == 0
    lines = {name: value.strip() for name, value in described(capsys.readouterr().out).items()}
    factors = xl.lu_factor(MATRIX, precision="auto", digits=60)
    assert lines["L, U"] == f"2 x 2, {factors.precision} bits after the point"
    assert factors.precision > xl.lu_factor(MATRIX, precision="auto").precision


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["singular.npy", "--precision", "100"], "singular.npy"),
        (["nan.npy", "--precision", "100"], "nan.npy: the entry [0, 1] is not finite"),
        (["wide.npy", "--precision", "100"], "square"),
        (["a.npy", "--precision", "1"], "2 bits or more"),
        (["a.npy", "--precision", "max"], "--precision: a precision is a number of bits or 'auto', got 'max'"),
        (["a.npy"], "--precision"),
        (["a.npy", "--precision", "100", "--digits", "9"], "digits go with precision='auto'"),
        (["a.npy", "--precision", "auto", "--digits", "0"], "digits"),
        (["a.npy", "--precision", "100", "-o", "x.csv"], ".npz"),
        (["a.npy", "b.npy", "--precision", "100", "-o", "x.npz"], ".csv"),
    ],
)
def test_bad_input(folder, capsys, arguments, message):
    assert main(["lu", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "x.csv").exists()
