"""A campaign's reports for other programs, as `fuzz` and `matrix` write them."""

import json
import os
import subprocess
import sys

from junitparser import JUnitXml
from sarif_kit.validate import validation_errors

FUZZ = [
    sys.executable,
    "-m",
    "fuzzresume",
    "fuzz",
    "mutant",
    "-o",
    "fault=ForkIgnore",
    "--max-runs",
    "10",
    "--seed",
    "1",
    "--phases",
    "tour,minimise",
    "--no-tlc",
]


def test_all_of_them_tell_the_same(tmp_path):
    files = {name: tmp_path / name for name in ("json", "junit", "sarif", "summary", "events")}
    wanted = [str(word) for name, path in files.items() for word in (f"--{name}", path)]
    done = subprocess.run([*FUZZ, *wanted], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    (target,) = json.loads(files["json"].read_text())["targets"]
    ids = {finding["id"] for finding in target["findings"]}
    assert any(name.startswith("FD-") for name in ids)

    (suite,) = JUnitXml.fromfile(str(files["junit"]))
    failed = {case.name for case in suite if any(result._tag == "failure" for result in case.result)}
    assert {name.split()[0] for name in failed} == {f"RR-{f['property']}" for f in target["findings"]}

    log = json.loads(files["sarif"].read_text())
    assert validation_errors(log) == []
    (sarif,) = log["runs"]
    assert {result["partialFingerprints"]["fuzzresumeFinding/v1"] for result in sarif["results"]} == ids
    for result in sarif["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert json.loads((tmp_path / uri).read_text())["schema"] == "fuzzresume.trace/1"

    page = files["summary"].read_text()
    assert page.startswith("# fuzzresume: exit code 1\n") and all(name in page for name in ids)

    first, *lines = [json.loads(line) for line in files["events"].read_text().splitlines()]
    assert first["schema"] == "fuzzresume.events/1"
    assert {line["finding"]["id"] for line in lines if line["event"] == "finding-found"} == ids
    assert sum(line["event"] == "run-finished" for line in lines) == target["runs"]
    assert (lines[0]["event"], lines[-2]["event"], lines[-1]["exit_code"]) == ("target-started", "target-finished", 1)


def test_a_reader_of_events_that_goes_away_costs_no_finding(tmp_path):
    pipe, report = tmp_path / "pipe", tmp_path / "campaign.json"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*FUZZ, "--events", str(pipe), "--json", str(report)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    with pipe.open() as reader:
        assert "fuzzresume.events/1" in reader.readline()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and said == ""
    (target,) = json.loads(report.read_text())["targets"]
    assert target["verdicts"]["FD"]["verdict"] == "violated"
    assert any("EventLines gave up" in words for words in target["troubles"])


def test_a_matrix_writes_them_too(tmp_path):
    junit, summary = tmp_path / "junit.xml", tmp_path / "summary.md"
    words = ["matrix", "reference", "--max-runs", "1", "--no-tlc", "--junit", str(junit), "--summary", str(summary)]
    done = subprocess.run([sys.executable, "-m", "fuzzresume", *words], cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == 3
    (suite,) = JUnitXml.fromfile(str(junit))
    assert suite.failures == 0 and suite.errors > 0 and "unexercised" in summary.read_text()
