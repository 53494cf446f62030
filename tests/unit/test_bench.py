"""The benchmarks run, and their JSON is what it says; the figures of a quick run mean nothing."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def bench(*arguments):
    return subprocess.run([sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(importlib.util.find_spec("langgraph") is None, reason="needs langgraph")
def test_a_quick_run_writes_typed_rows(tmp_path):
    file = tmp_path / "deep" / "figures.json"
    done = bench("d", "--quick", "--json", str(file))
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert (found["schema"], found["quick"]) == ("fuzzresume.bench/1", True)
    assert found["cpus"] >= 1 and {"python", "hypothesis", "langgraph"} <= found["versions"].keys()
    for row in found["rows"]:
        assert row["letter"] == "d" and row["name"] and row["unit"] and row["repetitions"] == 1
        assert row["value"] > 0 and row["alternative"] and row["alternative_value"] > 0
        assert row["met"] == judged(row["target"], row["value"])
    assert sum(row["target"] is not None for row in found["rows"]) == 1


def test_the_committed_figures_are_of_every_benchmark_and_judged_as_they_say():
    found = json.loads((ROOT / "bench" / "results" / "latest.json").read_text())
    assert (found["schema"], found["quick"]) == ("fuzzresume.bench/1", False)
    assert {row["letter"] for row in found["rows"]} == set("abcdef")
    assert all(row["met"] == judged(row["target"], row["value"]) for row in found["rows"])


def test_the_readme_quotes_the_committed_figures():
    sys.path.insert(0, str(ROOT))
    try:
        from bench.readme import END, README, START, figures
        from bench.results import rows_of
    finally:
        sys.path.remove(str(ROOT))
    quoted = README.read_text().partition(START)[2].partition(END)[0]
    committed = json.loads((ROOT / "bench" / "results" / "latest.json").read_text())
    assert quoted == figures(rows_of(committed))
    assert quoted.count("| met |") + quoted.count("| missed |") == len(quoted.splitlines()) - 2


def judged(target, value):
    if target is None:
        return "no target"
    if value is None:
        return "no"
    met = value >= target["figure"] if target["direction"] == ">=" else value <= target["figure"]
    return "yes" if met else "no"


def test_an_unknown_letter_is_a_usage_error(tmp_path):
    done = bench("z", "--json", str(tmp_path / "figures.json"))
    assert done.returncode == 2 and "no benchmark z" in done.stderr
    assert not (tmp_path / "figures.json").exists()
