"""Files are whole or untouched: failures in the middle of writing leave the old file and nothing else."""

import os
import stat

import ml_dtypes
import numpy as np
import pytest

from exactla.cli.exits import ExitCode, InputError, OutputError, exit_code
from exactla.cli.loading import load
from exactla.cli.saving import check_target, replacing, save, storable
from exactla.formats import FLOAT_FORMATS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


FINITE = np.array([[0.1, -0.0, 5e-324], [1.7976931348623157e308, 1 / 3, -2.5]])


@pytest.mark.parametrize("array", [FINITE, np.array([[0.1, 1e-45]], np.float32), np.array([[6e-8, 65504]], np.float16)])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
def test_round_trip(folder, array, suffix):
    path = folder / f"x{suffix}"
    save(path, {"product": array})
    loaded = load(str(path)).array
    assert loaded.dtype == (np.float64 if suffix == ".csv" else array.dtype)
    assert loaded.astype(array.dtype).tobytes() == array.tobytes()
    assert np.array_equal(loaded, array)


def test_the_ends_of_an_enclosure_keep_their_order(folder):
    save(folder / "x.npz", {"lo": FINITE, "hi": FINITE + 1})
    with np.load("x.npz") as archive:
        assert archive.files == ["lo", "hi"]


def test_not_finite_in_csv(folder):
    save(folder / "x.csv", {"product": np.array([[np.inf, -np.inf, np.nan]])})
    assert np.array_equal(load("x.csv").array, [[np.inf, -np.inf, np.nan]], equal_nan=True)


@pytest.mark.parametrize("array", [np.array(1.5), np.array([1.5, 2.5])])
def test_scalars_and_vectors_are_a_row_in_csv(folder, array):
    save(folder / "x.csv", {"product": array})
    assert load("x.csv").array.tolist() == [array.ravel().tolist()]


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz"])
def test_formats_that_numpy_files_lack_keep_their_values(folder, name):
    bits = 16 if name == "bfloat16" else 8
    encodings = np.arange(2**bits, dtype=f"u{bits // 8}")
    array = encodings.view(getattr(ml_dtypes, name))
    assert storable(array).dtype == np.float32
    save(folder / "x.npy", {"product": array})
    loaded = np.load("x.npy")
    assert loaded.dtype == np.float32
    numbers = np.array([FLOAT_FORMATS[name].is_finite(int(x)) for x in encodings]) | np.isinf(loaded)
    back = np.where(numbers, loaded, 0).astype(array.dtype)
    assert back[numbers].tobytes() == array[numbers].tobytes()
    assert np.array_equal(np.isnan(loaded), ~numbers)


class Spoilt(RuntimeError):
    pass


@pytest.mark.parametrize("error", [Spoilt, KeyboardInterrupt, MemoryError, SystemExit])
@pytest.mark.parametrize("existing", [True, False])
def test_a_failure_in_the_middle_leaves_nothing(folder, error, existing):
    path = folder / "x.npy"
    if existing:
        path.write_bytes(b"old")

    def fail_midway():
        with replacing(path) as stream:
            stream.write(b"new, but not all of i")
            stream.flush()
            assert len(os.listdir(folder)) == 1 + existing
            raise error

    with pytest.raises(error):
        fail_midway()
    assert os.listdir(folder) == ["x.npy"] * existing
    assert not existing or path.read_bytes() == b"old"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(folder, monkeypatch, step):
    def full(*_):
        raise OSError(28, "No space left on device")

    save(folder / "x.npz", {"product": FINITE})
    before = (folder / "x.npz").read_bytes()
    monkeypatch.setattr(os, step, full)
    with pytest.raises(OutputError, match="not written: No space left on device") as caught:
        save(folder / "x.npz", {"product": FINITE + 1})
    assert exit_code(caught.value) is ExitCode.NO_RESOURCE
    assert os.listdir(folder) == ["x.npz"]
    assert (folder / "x.npz").read_bytes() == before


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
def test_a_real_limit_on_the_size_of_files(folder, suffix):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OutputError, match="not written") as caught:
            save(folder / f"x{suffix}", {"product": np.ones((100, 100))})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert exit_code(caught.value) is ExitCode.NO_RESOURCE
    assert os.listdir(folder) == []


def test_a_reader_of_the_old_file_keeps_it(folder):
    path = folder / "x.npy"
    save(path, {"product": FINITE})
    with open(path, "rb") as reader:
        save(path, {"product": FINITE + 1})
        assert np.array_equal(np.load(reader), FINITE)
    assert np.array_equal(np.load(path), FINITE + 1)


def test_permissions(folder):
    old_mask = os.umask(0o027)
    try:
        path = folder / "x.npy"
        save(path, {"product": FINITE})
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        save(path, {"product": FINITE})
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(old_mask)


def test_a_link_keeps_pointing(folder):
    (folder / "real").mkdir()
    link = folder / "x.npy"
    link.symlink_to(folder / "real" / "y.npy")
    save(link, {"product": FINITE})
    assert link.is_symlink()
    assert os.listdir(folder / "real") == ["y.npy"]
    assert np.array_equal(np.load(link), FINITE)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("x.txt", "must end in .npz or .npy"),
        ("x", "must end in .npz or .npy"),
        ("missing/x.npz", "there is no folder .*missing"),
        ("file/x.npz", "there is no folder .*file"),
        ("folder.npz", "exists and is not a regular file"),
        ("pipe.npz", "exists and is not a regular file"),
    ],
)
def test_targets_that_cannot_be_written(folder, name, fault):
    (folder / "file").write_bytes(b"")
    (folder / "folder.npz").mkdir()
    os.mkfifo("pipe.npz")
    with pytest.raises(InputError, match=f"^.*{name}: .*{fault}"):
        check_target(folder / name, (".npz", ".npy"))


def test_a_folder_that_may_not_be_written_to(folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="may not be written to"):
        check_target(folder / "x.npz", (".npz",))


def test_good_targets(folder):
    (folder / "x.npz").write_bytes(b"")
    for name in ("x.npz", "new.npz", "NEW.NPZ"):
        check_target(folder / name, (".npz",))
    assert os.listdir(folder) == ["x.npz"]
