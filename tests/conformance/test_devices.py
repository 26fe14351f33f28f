"""The reports of devices that are kept beside the suite: all cases, and the frozen digests."""

from pathlib import Path

import pytest

import exactla as xl
from exactla_conformance.digests import DigestFile, load_reference
from exactla_conformance.report import compare_digests

FOLDER = Path(__file__).resolve().parents[2] / "conformance" / "digests"
REPORTS = sorted(FOLDER.glob("*.json"))


def test_there_are_reports():
    assert REPORTS


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_device_gave_the_frozen_digests(path):
    report, frozen = DigestFile.load(path), load_reference(xl.BITS_VERSION)
    assert report.bits_version == frozen.bits_version
    # cases that were added later are not in it
    known = DigestFile(frozen.bits_version, {name: frozen.cases[name] for name in report.cases})
    assert compare_digests(report, known).same
    assert report.environment["backend"] == path.stem.partition("-")[0]
    assert f"`{path.name}`" in (FOLDER / "README.md").read_text(encoding="utf-8")
