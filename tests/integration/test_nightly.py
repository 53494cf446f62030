"""Nights as a team's CI meets them: two in a row, one that is killed, one that is interrupted, two at once."""

import json
import signal

import command_line
import pytest
from junitparser import JUnitXml
from killed_nights import Recorded, kill_nights, night, prepare

from fuzzresume.campaign.known import write_baseline
from fuzzresume.campaign.nightly.night import alone
from fuzzresume.contract.trace import load

TWO = """
[tool.fuzzresume]
targets = ["langgraph@0.0.1", { name = "mutant", options = { fault = "ForkIgnore" }, runs = 12 }]
phases = ["regress", "tour", "minimise"]
runs = 1
tlc = false

[tool.fuzzresume.outputs]
json = "reports/night.json"
junit = "reports/junit.xml"
summary = "reports/summary.md"
html = "reports/page.html"
"""


@pytest.fixture
def nightly(tmp_path, monkeypatch):
    """Calls `fuzzresume nightly` where no environment can be built."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("FUZZRESUME_CACHE", str(tmp_path / "cache"))

    def call(*arguments, folder=tmp_path):
        return command_line.run("nightly", *arguments, cwd=folder)

    return call


def test_two_nights(tmp_path, nightly):
    (tmp_path / "pyproject.toml").write_text(TWO)
    below = tmp_path / "below"
    below.mkdir()
    first = nightly(folder=below)
    assert first.returncode == 1, first.stdout + first.stderr
    (trace,) = (tmp_path / ".fuzzresume").rglob("FD-*.json")
    report = json.loads((tmp_path / "reports" / "night.json").read_text())
    assert [change["finding"] for change in report["diff"]["new"]] == [trace.stem] and report["finished"]
    assert "no environment for langgraph@0.0.1" in report["targets"][0]["unusable"]

    (tmp_path / "known.json").write_bytes(write_baseline([load(trace)]))
    second = nightly("--baseline", "known.json")
    assert second.returncode == 3, second.stdout + second.stderr
    report = json.loads((tmp_path / "reports" / "night.json").read_text())
    assert report["number"] == report["seed"] == 2 and report["diff"]["since"].endswith(".1")
    (seen,) = report["targets"][1]["findings"]
    assert (seen["id"], seen["known"], report["diff"]["new"], report["diff"]["gone"]) == (trace.stem, trace.stem, [], [])
    suites = JUnitXml.fromfile(str(tmp_path / "reports" / "junit.xml"))
    assert sum(suite.failures for suite in suites) == 0
    assert "compared with night" in (tmp_path / "reports" / "summary.md").read_text()
    assert report["night"] in (tmp_path / "reports" / "page.html").read_text()


def test_killed_at_any_moment(tmp_path):
    kill_nights(tmp_path, 6, seed=3)


def test_interrupted(tmp_path):
    prepare(tmp_path)
    told = night(tmp_path, 3, signal.SIGINT)
    assert told.code == 130 and told.lines[-1]["exit_code"] == 130
    recorded = Recorded(tmp_path)
    assert list(recorded.status.values()) == ["interrupted"] and list(recorded.nights.values()) == [None]


def test_a_second_one_ends_at_once(tmp_path, nightly):
    (tmp_path / "fuzzresume.toml").write_text('targets = ["reference"]')
    with alone(tmp_path / ".fuzzresume" / "corpus.db"):
        done = nightly()
    assert done.returncode == 2 and "another nightly run works on this database" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / ".fuzzresume" / "corpus.db").exists()


def test_a_slip_is_told_before_anything_is_fuzzed(tmp_path, nightly):
    (tmp_path / "fuzzresume.toml").write_text(
        'targets = ["reference", { name = "mutant", options = { fault = "ForkIgnor" } }]'
    )
    done = nightly()
    assert done.returncode == 2 and "fuzzresume.toml: targets: mutant: fault cannot be 'ForkIgnor'" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and Recorded(tmp_path).status == {}


def test_the_schema_is_printed(nightly):
    assert json.loads(nightly("--schema").stdout)["title"] == "fuzzresume nightly"
