"""Systems in files: what is saved is the library's solution, and what is refused leaves no file behind."""

import os

import numpy as np
import pytest

import exactla as xl
from exactla.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.array([[2, 1], [1, 3]]))
    np.save("b.npy", np.array([1.5, 2]))
    np.save("singular.npy", np.ones((2, 2)))
    np.save("nan.npy", np.array([[1, np.nan], [0, 1]]))
    (tmp_path / "big.csv").write_text(f"1{'0' * 5000},0\n0,1\n")
    (tmp_path / "side.csv").write_text("1,2\n3,4\n")
    return tmp_path


def test_the_solution_is_described(folder, capsys):
    assert main(["solve", "a.npy", "b.npy"]) == 0
    output, errors = capsys.readouterr()
    lines = dict(line.split(maxsplit=1) for line in output.splitlines())
    assert errors == ""
    assert lines["first"] == "1/2"
    x = xl.solve([[2, 1], [1, 3]], [1.5, 2])
    assert lines["digest"] == xl.digest(x.numerators, np.array([x.denominator], object))
    assert "denominator of 2 bits" in lines["x"]


def test_fractions_of_any_length_are_saved(folder, capsys):
    assert main(["solve", "big.csv", "side.csv", "-o", "x.csv"]) == 0
    assert "5,003 characters" in capsys.readouterr().out
    rows = (folder / "x.csv").read_text().splitlines()
    assert rows[0] == f"1/1{'0' * 5000},1/5{'0' * 4999}"
    assert rows[1] == "3,4"


def test_enclosures_are_saved(folder):
    assert main(["-q", "solve", "a.npy", "b.npy", "-o", "x.npz", "--dtype", "float32", "--backend", "numpy"]) == 0
    lo, hi = xl.solve_enclose([[2, 1], [1, 3]], [1.5, 2], dtype="float32")
    with np.load("x.npz") as found:
        assert found["lo"].tolist() == lo.tolist()
        assert found["hi"].tolist() == hi.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["singular.npy", "b.npy"], "A is singular"),
        (["nan.npy", "b.npy"], "nan.npy: the entry [0, 1] is not finite"),
        (["a.npy", "a.npy", "-o", "x.txt"], "must end in .csv or .npz"),
        (["side.csv", "missing.npy"], "missing.npy"),
        (["a.npy", "b.npy", "--backend", "none"], "no backend named"),
    ],
)
def test_what_is_refused(folder, capsys, arguments, message):
    before = sorted(os.listdir())
    assert main(["solve", *arguments]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert message in errors
    assert errors.count("\n") == 1
    assert sorted(os.listdir()) == before
