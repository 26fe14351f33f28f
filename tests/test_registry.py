"""Finding backends: entry points of third parties, reasons of those that cannot run, priorities, unknown names."""

from importlib import metadata

import numpy as np
import pytest

import exactla as xl
from exactla import registry
from exactla.errors import BackendUnavailable
from exactla.registry import BackendDescription, BackendStatus
from tests.core.exact_backend import ExactBackend


class Point:
    """An entry point of another package."""

    def __init__(self, name, load):
        self.name = name
        self.load = load


@pytest.fixture
def install(monkeypatch):
    """Pretend that packages publish these entry points; forget what the registry knew before and learns now."""
    caches = (registry.descriptions, registry._load, registry.default)

    def forget():
        for cache in caches:
            cache.cache_clear()

    def install_points(*points):
        def entry_points(*, group):
            return list(points) if group == registry.GROUP else []

        monkeypatch.setattr(metadata, "entry_points", entry_points)
        forget()

    yield install_points
    monkeypatch.undo()
    forget()


def point(name, *, devices=("cpu",), priority=0, missing=lambda: None, load=None, described_as=None):
    backend = ExactBackend(name=name)
    description = BackendDescription(described_as or name, devices, priority, missing, load or (lambda: backend))
    return Point(name, lambda: description)


def test_the_group_that_third_parties_publish_under():
    assert registry.GROUP == "exactla.backends"
    names = [p.name for p in metadata.entry_points(group="exactla.backends")]
    assert "numpy" in names
    assert "loopback" not in names


def test_installed_backends_are_named_as_their_entry_points():
    for entry in metadata.entry_points(group="exactla.backends"):
        assert entry.load().name == entry.name


def test_the_backend_of_a_third_party_is_found_and_used(install):
    install(point("theirs", priority=5), point("ours"))
    assert [b.name for b in xl.backends()] == ["theirs", "ours"]
    assert registry.default("cpu").name == "theirs"
    assert xl.mm(np.array([[0.1]]), np.array([[3.0]]), return_info=True)[1].backend == "theirs"
    with xl.backend("ours"):
        assert xl.mm(np.array([[0.1]]), np.array([[3.0]]), return_info=True)[1].backend == "ours"


def test_the_largest_priority_of_a_device_is_chosen(install):
    install(
        point("a", priority=1),
        point("b", priority=3, devices=("cuda",)),
        point("c", priority=2, devices=("cuda", "cpu")),
        point("d", priority=9, missing=lambda: "no such device"),
    )
    assert registry.default("cpu").name == "c"
    assert registry.default("cuda").name == "b"


def test_a_backend_copies_arrays_of_other_devices_only_where_it_is_forced(install):
    backend = ExactBackend(name="far")
    far = BackendDescription("far", ("sycl",), 9, lambda: None, lambda: backend, copies_from=("cpu",))
    install(point("near"), Point("far", lambda: far))
    one = np.array([[1.0]])
    assert xl.mm(one, one, return_info=True)[1].backend == "near"
    with xl.backend("far"):
        assert xl.mm(one, one, return_info=True)[1].backend == "far"


def test_equal_priorities_are_ordered_by_name(install):
    install(point("y"), point("x"), point("z"))
    assert list(registry.descriptions()) == ["x", "y", "z"]
    assert registry.default("cpu").name == "x"


def test_a_backend_that_cannot_run_says_why(install):
    reason = "pip install theirs-driver brings what is missing"
    install(point("theirs", missing=lambda: reason), point("ours"))
    status = {b.name: b for b in xl.backends()}
    assert not status["theirs"].available
    assert reason in status["theirs"].reason
    assert status["theirs"].engines == ()
    assert reason in str(status["theirs"])
    assert status["ours"].available
    for force in (registry.load, xl.backend):
        with pytest.raises(BackendUnavailable, match="'theirs' cannot run here: pip install theirs-driver"):
            force("theirs")


def test_a_missing_library_is_asked_for_again(install):
    # it may have been installed, or its device plugged in, since
    reasons = ["not yet", None]
    install(point("theirs", missing=lambda: reasons.pop(0)))
    with pytest.raises(BackendUnavailable, match="not yet"):
        registry.load("theirs")
    assert registry.load("theirs").name == "theirs"


def test_a_backend_is_loaded_once_and_only_when_used(install):
    loaded = []

    def load():
        loaded.append(1)
        return ExactBackend(name="theirs")

    install(point("theirs", load=load), point("ours", priority=3))
    assert registry.default("cpu").name == "ours"
    assert not loaded
    assert registry.load("theirs") is registry.load("theirs")
    assert loaded == [1]


def test_a_backend_whose_import_fails_is_listed_with_the_error(install):
    def load():
        raise ImportError("libdevice.so.7: cannot open shared object file")

    install(point("theirs", load=load), point("ours"))
    status = {b.name: b for b in xl.backends()}
    assert not status["theirs"].available
    assert "libdevice.so.7" in status["theirs"].reason
    assert status["ours"].available


@pytest.mark.parametrize(
    "fault", [ImportError("no module named theirs"), AttributeError("DESCRIPTION"), OSError("lib")]
)
def test_a_package_that_is_broken_does_not_take_the_others_with_it(install, fault):
    def load():
        raise fault

    install(Point("theirs", load), point("ours"))
    assert xl.mm(np.array([[2.0]]), np.array([[3.0]])).item() == 6
    assert "ours" in [b.name for b in xl.backends() if b.available]


@pytest.mark.parametrize("fault", [OSError("libcuda.so"), RuntimeError("driver too old")])
def test_a_backend_that_fails_to_load_in_any_way_is_listed(install, fault):
    def load():
        raise fault

    install(point("theirs", load=load), point("ours"))
    status = {b.name: b for b in xl.backends()}
    assert not status["theirs"].available
    assert str(fault) in status["theirs"].reason


def test_unknown_names_are_answered_with_the_known_ones(install):
    install(point("theirs"), point("ours"))
    with pytest.raises(BackendUnavailable, match=r"no backend named 'other'; installed are ours, theirs"):
        registry.load("other")
    with pytest.raises(BackendUnavailable, match="'other'"):
        xl.backend("other")


def test_no_backends_at_all(install):
    install()
    assert xl.backends() == ()
    with pytest.raises(BackendUnavailable, match="none"):
        registry.load("numpy")
    with pytest.raises(
        BackendUnavailable, match=r"no backend takes arrays on 'cpu' devices here \(none is installed\)"
    ):
        xl.mm([[1.0]], [[1.0]])


def test_a_device_without_a_backend_that_runs(install):
    install(
        point("theirs", devices=("cuda",), missing=lambda: "no driver"),
        point("more", devices=("cuda",), missing=lambda: "no compiler"),
        point("ours"),
    )
    with pytest.raises(BackendUnavailable, match=r"'cuda'.*more: no compiler; theirs: no driver"):
        registry.default("cuda")


@pytest.mark.parametrize("name", [3, None, b"numpy", ["numpy"]])
def test_a_name_is_a_string(name):
    with pytest.raises(TypeError, match="named by a string"):
        registry.load(name)


def test_unavailable_is_an_import_error():
    assert issubclass(BackendUnavailable, ImportError)
    assert issubclass(BackendUnavailable, xl.ExactlaError)


def test_a_status_reads_well():
    assert str(BackendStatus("b", ("cpu", "cuda"), True, "", ("fp64", "int8"))) == "b (cpu, cuda): engines fp64, int8"
    assert str(BackendStatus("b", ("cpu",), False, "no driver", ())) == "b (cpu): unavailable: no driver"


def test_the_numpy_backend_is_always_there():
    status = {b.name: b for b in xl.backends()}["numpy"]
    assert status.available
    assert status.reason == ""
    assert "cpu" in status.devices
    assert status.engines == tuple(e.name for e in registry.load("numpy").engines)
