"""`exactla conformance`: what each sub-command prints and returns."""

import json

import pytest

import exactla as xl
from exactla_conformance.cases import all_cases
from exactla_conformance.cli import main
from exactla_conformance.digests import DigestFile, reference_path


def test_run_passes(capsys):
    assert main(["run", "--select", "reported-*"]) == 0
    assert "PASS" in capsys.readouterr().out


def test_run_writes_a_report_that_compares(tmp_path, capsys):
    path = tmp_path / "report.json"
    arguments = ["run", "--backend", "numpy", "--select", "reported-square", "--oracle", "--output", str(path)]
    assert main(arguments) == 0
    assert DigestFile.load(path).environment["backend"] == "numpy"
    assert main(["compare", str(path), str(path)]) == 0
    assert main(["compare", str(path), str(reference_path(xl.BITS_VERSION))]) == 1
    assert "only in the second file" in capsys.readouterr().out


def test_run_fails_where_a_digest_differs(monkeypatch, capsys):
    monkeypatch.setattr(xl, "digest", lambda *arrays: "0")
    assert main(["run", "--select", "reported-square"]) == 1
    assert "FAIL" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--select", "no-such"], "no case matches"),
        (["run", "--backend", "nowhere"], "nowhere"),
        (["compare", "absent.json", "absent.json"], "conformance: absent.json: No such file"),
        (["compare", ".", "."], "conformance: .: Is a directory"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\xff", "it is not text"),
        (b"{\nno", "line 2 is not JSON"),
        (b"{}", "it has no 'cases'"),
        (b'{"cases": {"a": {"call": 1}}}', "its cases are not records"),
        (b"[]", "its cases are not records"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"bits_version": 1e999, "cases": {}}', "its 'bits_version' is no integer"),
        (b'{"bits_version": 1, "cases": {"a": {"call": "", "input": "", "output": 1}}}', "its cases are not records"),
    ],
)
def test_what_is_no_digest_file_is_said(content, words, capsys, tmp_path):
    path = tmp_path / "some.json"
    path.write_bytes(content)
    assert main(["compare", str(path), str(path)]) == 2
    assert capsys.readouterr().err == f"exactla conformance: {path}: this is no digest file: {words}" + (
        " of calls and digests\n" if "records" in words else "\n"
    )


def test_update_refuses_without_the_oracle(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("exactla_conformance.runner.answer", lambda case, operands: ())
    only = {"reported-square": all_cases()["reported-square"]}
    monkeypatch.setattr("exactla_conformance.runner.select_cases", lambda pattern=None: only)
    assert main(["update", str(tmp_path / "new.json")]) == 1
    assert "nothing is frozen" in capsys.readouterr().err
    assert not (tmp_path / "new.json").exists()
    monkeypatch.undo()
    monkeypatch.setattr("exactla_conformance.runner.select_cases", lambda pattern=None: only)
    assert main(["update", str(tmp_path / "new.json")]) == 0
    assert list(json.loads((tmp_path / "new.json").read_text())["cases"]) == ["reported-square"]


def test_list_shows_names_and_calls(capsys):
    assert main(["list", "--select", "int-wide"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["int-wide", "mm_enclose()"],
        ["int-wide-nearest", "mm()"],
        ["int-wide-exact", "mm_exact()"],
    ]


def test_a_command_is_needed():
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
