"""`python -m bench roofline`: what is recorded, and that the page has the table of the record."""

from pathlib import Path

import pytest

from bench import peaks, record, report, roofline
from tests.bench.test_command_line import ROOT, recorded

RECORD, PAGE = ROOT / "bench" / "results" / "roofline-cpu.json", ROOT / "docs" / "roofline.md"


@pytest.mark.skipif(roofline.missing() is not None, reason="the roofline of the cpu backend cannot be measured here")
def test_steps(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    sizes = ("--sizes", "64", "--dtypes", "float64,float32", "--threads", "1", "--repeat", "1", "--pause", "0")
    content = recorded(tmp_path / "record.json", "roofline", *sizes, "--page", str(page))
    rows = content["results"]
    assert {row["dtype"] for row in rows} == {"float64", "float32"}
    assert {"scan", "into residues", "product of residues", "back, and rounding"} <= {r["contestant"] for r in rows}
    for row in rows:
        assert row["seconds_median"] > 0
        assert row["operations_per_second"] == row["operations"] / row["seconds_median"]
        assert row["bound"] == "instructions" or row["shares"][row["bound"]] >= roofline.NEAR
    product = next(row for row in rows if row["contestant"] == "product of residues")
    assert product["operations"] % 64**3 == 0
    assert "\n".join(report.roofline(rows)) in page.read_text(encoding="utf-8")


def test_the_page_has_the_table_of_the_record() -> None:
    table = "\n".join(report.roofline(record.read(RECORD)["results"]))
    assert table in PAGE.read_text(encoding="utf-8")


def test_a_page_without_a_place_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# No place\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no place for a table"):
        report.replace(page, ["| a |"])
    assert page.read_text(encoding="utf-8") == "# No place\n"


@pytest.mark.skipif(peaks.missing() is not None, reason="there is no C compiler")
def test_peaks_are_rates() -> None:
    found = peaks.measure(1)
    assert "memory" in found
    assert all(rate > 0 for rate in found.values())
