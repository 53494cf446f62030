"""Every command and example of the README runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

import fuzzresume

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = [line.strip() for line in README.splitlines() if line.startswith("    fuzzresume ")]


def test_there_are_commands_to_test():
    assert len(COMMANDS) >= 6


def test_the_commands_run_in_order(tmp_path):
    for command in COMMANDS:
        words = shlex.split(command)[1:]
        # What a campaign finds, and so its exit code, hangs on runs: seconds would make it hang on the machine. With every
        # finding known it is what is unexercised that decides.
        runs = "60" if {"--profile", "--baseline"} & set(words) else "20"
        for option in {"--max-time", "--max-runs"} & set(words):
            at = words.index(option)
            words[at : at + 2] = ["--max-runs", runs]
        if words[0] in ("show", "replay", "shrink") and words[1].endswith(".json"):
            # The finding's name depends on what the campaigns before this line found.
            words[1] = str(next((tmp_path / ".fuzzresume").rglob("FD-*.json")))
        done = subprocess.run(
            [sys.executable, "-m", "fuzzresume", *words], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode in (0, 1) and "Traceback" not in done.stderr, (command, done.stdout, done.stderr)
    assert (tmp_path / "campaign.json").exists()


def test_the_pytest_examples_run(tmp_path):
    (line,) = (line.split() for line in README.splitlines() if line.startswith("    pytest --fuzzresume"))
    # As few as every property is exercised in.
    line[line.index("--fuzzresume-max-runs") + 1] = "45"
    (example,) = (code for code in re.findall(r"```py\n(.*?)```", README, re.DOTALL) if "import recovery" in code)
    (tmp_path / "test_approval.py").write_text(example)
    done = subprocess.run(
        [sys.executable, "-m", *line, "test_approval.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    counts = dict(reversed(word.split()) for word in re.findall(r"\d+ (?:passed|failed|skipped)", done.stdout))
    assert done.returncode == 0 and int(counts["passed"]) >= 12 and "failed" not in counts, done.stdout


def test_the_nightly_example_runs(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    # Its targets take minutes, and the newest release needs the network.
    brief = re.sub(r"targets = \[.*?\n\]", 'targets = ["mutant"]', example, flags=re.DOTALL).replace('"30m"', '"6s"')
    (tmp_path / "pyproject.toml").write_text(brief)
    start = [sys.executable, "-m", "fuzzresume"]
    subprocess.run([*start, "baseline", "update", "fuzzresume-baseline.json", "FD-2dc830"], cwd=tmp_path, check=True)
    done = subprocess.run([*start, "nightly"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert sorted(path.name for path in (tmp_path / "reports").iterdir()) == [
        "fuzzresume.html", "fuzzresume.md", "fuzzresume.xml",
    ]  # fmt: skip


def test_the_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    for line in README.splitlines():
        if line.startswith("    make "):
            assert re.search(rf"^{line.split()[1]}:", makefile, re.MULTILINE), line


def test_the_machine_example_runs():
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names = {}
    exec(code, names)
    quick = settings(
        max_examples=8, stateful_step_count=8, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(names["ApprovalMachine"], settings=quick)
    assert names["TestApproval"] is names["ApprovalMachine"].TestCase


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)h][^)]*)\)", README))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()


def test_the_version_is_one():
    assert f'version = "{fuzzresume.__version__}"' in (ROOT / "pyproject.toml").read_text()
