"""The command as a whole: help, options, messages, exit codes, and a few runs as a real process."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import exactla as xl
from exactla.cli import demo, digest, main
from exactla.cli.parser import COMMANDS


def run(*arguments, **options):
    """`python -m exactla` as a process."""
    return subprocess.run(
        [sys.executable, "-m", "exactla", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def script(code, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, check=False, **options
    )


# ---- in this process ----------------------------------------------------------------------------------------------


def test_help(capsys):
    assert main(["--help"]) == 0
    output, errors = capsys.readouterr()
    assert not errors
    for word in ("demo", "devices", "enclose", "digest", "conformance", ".mtx", "exit codes", "130"):
        assert word in output


@pytest.mark.parametrize("module", COMMANDS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_help_of_each_command(capsys, module):
    name = module.__name__.rpartition(".")[2]
    assert main([name, "--help"]) == 0
    assert f"usage: exactla {name}" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"exactla {xl.__version__} (bits version {xl.BITS_VERSION})\n"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "the following arguments are required: COMMAND (see exactla --help)"),
        (["bogus"], "invalid choice: 'bogus'"),
        (["--bogus", "demo"], "unrecognized arguments: --bogus"),
        (["demo", "extra"], "unrecognized arguments: extra"),
        (["digest"], "the following arguments are required: FILE (see exactla digest --help)"),
        (["enclose"], "the following arguments are required: A (see exactla enclose --help)"),
    ],
)
def test_usage(capsys, arguments, fault):
    assert main(arguments) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("exactla: error: ")
    assert errors.count("\n") == 1
    assert fault in errors


@pytest.mark.parametrize("arguments", [["--quiet", "demo"], ["demo", "--quiet"], ["-q", "demo"], ["demo", "-q"]])
def test_common_options_before_and_after_the_command(monkeypatch, arguments):
    seen = []

    def spy(parsed):
        seen.append(parsed)
        return 0

    monkeypatch.setattr(demo, "run", spy)
    assert main(arguments) == 0
    assert main(["demo"]) == 0
    assert [parsed.quiet for parsed in seen] == [True, False]


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (xl.NonFiniteError("a", (0, 1)), 2, "exactla: error: a[0, 1] is not finite\n"),
        (xl.BackendUnavailable("no beads"), 2, "exactla: error: no beads\n"),
        (xl.WorkspaceError(10, 5), 3, "exactla: error: the smallest block"),
        (MemoryError(), 3, "exactla: error: out of memory\n"),
        (MemoryError("Unable to allocate 8 TiB"), 3, "exactla: error: Unable to allocate 8 TiB\n"),
        (FileNotFoundError(2, "No such file", "x"), 2, "exactla: error: x: No such file\n"),
        (OSError(28, "No space left"), 3, "exactla: error: [Errno 28] No space left\n"),
        (KeyboardInterrupt(), 130, "exactla: interrupted\n"),
    ],
)
def test_exit_codes(capsys, monkeypatch, error, code, line):
    def failing(_):
        raise error

    monkeypatch.setattr(digest, "run", failing)
    assert main(["digest", "x.npy"]) == code
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith(line)
    assert errors.count("\n") == 1


def test_an_internal_error_is_shown_whole(capsys, monkeypatch):
    def failing(_):
        raise KeyError("unexpected")

    monkeypatch.setattr(digest, "run", failing)
    assert main(["digest", "x.npy"]) == 70
    errors = capsys.readouterr().err
    assert "Traceback" in errors
    assert "KeyError: 'unexpected'" in errors
    assert errors.endswith("this is an error inside exactla, please report it with the lines above\n")


@pytest.mark.parametrize("how", ["option", "option before", "environment"])
def test_traceback(capsys, monkeypatch, tmp_path, how):
    arguments = ["digest", "--joint", str(tmp_path / "x.npy")]
    if how == "environment":
        monkeypatch.setenv("EXACTLA_DEBUG", "1")
    else:
        arguments.insert(how == "option", "--traceback")
    assert main(arguments) == 2
    errors = capsys.readouterr().err
    assert "Traceback" in errors
    assert errors.splitlines()[-1].startswith("exactla: error: ")


@pytest.mark.parametrize("rest", [[], ["--help"], ["run", "--traceback", "x", "-q"], ["conformance"], ["--", "a"]])
def test_conformance_is_handed_its_arguments(monkeypatch, rest):
    suite = pytest.importorskip("exactla_conformance.cli")
    seen = []

    def spy(argv):
        seen.append(argv)
        return 1

    monkeypatch.setattr(suite, "main", spy)
    assert main(["--quiet", "conformance", *rest]) == 1
    assert seen == [rest]


def test_a_file_named_conformance_is_no_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["digest", "conformance"]) == 2
    assert "conformance: files are read by their suffix" in capsys.readouterr().err


# ---- as a process -------------------------------------------------------------------------------------------------


def test_help_loads_nothing_heavy():
    code = "import sys; from exactla.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    result = script(code)
    loaded = {name.partition(".")[0] for name in result.stderr.split()}
    assert "numpy" in loaded
    heavy = {"scipy", "tqdm", "torch", "jax", "cupy", "dpnp", "ml_dtypes", "exactla_backends", "exactla_conformance"}
    assert not loaded & heavy


def test_a_good_and_a_bad_run(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    good = run("digest", "x.npy", cwd=tmp_path)
    assert (good.returncode, good.stdout, good.stderr) == (0, f"{xl.digest(np.eye(2))}  x.npy\n", "")
    bad = run("enclose", "x.npy", "y.npy", cwd=tmp_path)
    assert (bad.returncode, bad.stdout, bad.stderr) == (2, "", "exactla: error: y.npy: No such file or directory\n")


def test_an_interrupt_leaves_no_file(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    code = """if True:
        import os, signal, sys, time
        from exactla.cli import main, saving

        def half(stream, arrays):
            stream.write(b"half of it")
            stream.flush()
            print(len(os.listdir()), flush=True)
            signal.raise_signal(signal.SIGINT)  # in this thread: another's would not end a pause
            time.sleep(60)

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        saving._WRITERS[".npz"] = half
        sys.exit(main(sys.argv[1:]))
    """
    result = script(code, "enclose", "x.npy", "x.npy", "-o", "out.npz", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (130, "2\n", "exactla: interrupted\n")
    assert os.listdir(tmp_path) == ["x.npy"]


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="pipes of POSIX")
def test_a_reader_that_goes_away(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    command = [sys.executable, "-m", "exactla", "digest", "x.npy"]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run(
            command, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120, check=False
        )
    finally:
        os.close(writing)
    assert (result.returncode, result.stderr) == (141, "")


@pytest.mark.skipif(sys.platform != "linux", reason="file names of arbitrary bytes")
def test_a_file_name_that_is_no_text(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff.npy"
    with open(name, "wb") as stream:
        np.save(stream, np.eye(2))
    result = run("digest", os.fsdecode(name))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("\\udcff.npy\n")
