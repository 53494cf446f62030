"""The command line as a user meets it: each kind of bad input is one line and the right exit code, and nothing is lost."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import command_line
import pytest

FUZZRESUME = [sys.executable, "-m", "fuzzresume"]


def run(*args, cwd=None, check=None):
    done = command_line.run(*args, cwd=cwd)
    if check is not None:
        assert done.returncode == check, done.stdout + done.stderr
    return done


def one_line(done):
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and "Traceback" not in done.stderr, done.stderr
    return lines[0]


def test_unknown_target_is_named_with_what_is_near():
    line = one_line(run("fuzz", "langgrap", check=2))
    assert "langgrap" in line and "did you mean langgraph" in line


def test_another_version_whose_environment_cannot_be_built(tmp_path, monkeypatch):
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path))
    assert "no environment for langgraph@0.0.1" in run("fuzz", "langgraph@0.0.1", "--max-runs", 1, check=3).stderr


def test_missing_extra_says_the_command(tmp_path):
    blocker = tmp_path / "sitecustomize.py"
    blocker.write_text(
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('langgraph', 'langchain_core'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    code = (
        "import importlib.metadata as m; real = m.version\n"
        "def version(name):\n"
        "    if name.startswith('langgraph'): raise m.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "m.version = version\n"
        "import sys; sys.argv = ['fuzzresume', 'fuzz', 'langgraph']\n"
        "from fuzzresume.cli import main; main()"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == 2
    assert "pip install 'fuzzresume[langgraph]'" in one_line(done)


def test_ctrl_c_before_there_is_a_command_line(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Impatient())\n"
    )
    done = subprocess.run(
        [*FUZZRESUME, "targets"], capture_output=True, env={**os.environ, "PYTHONPATH": str(tmp_path)}, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


def test_an_empty_version():
    assert "names no version" in one_line(run("fuzz", "reference@", check=2))


def test_the_version():
    assert run("--version", check=0).stdout.startswith("fuzzresume 0.")


@pytest.mark.parametrize("option, says", [("colour=red", "colour"), ("restart=maybe", "maybe"), ("restart", "key=value")])
def test_a_wrong_option(option, says):
    assert says in one_line(run("fuzz", "reference", "-o", option, check=2))


def test_a_wrong_duration():
    assert "no duration" in run("fuzz", "reference", "--max-time", "soon", check=2).stderr


@pytest.mark.parametrize(
    "text, says",
    [
        ("{", "not JSON"),
        ('{"schema": "fuzzresume.trace/9"}', "another version"),
        ('{"schema": "fuzzresume.trace/1", "target": 3}', "target"),
    ],
)
def test_a_broken_trace(tmp_path, text, says):
    trace = tmp_path / "bug.json"
    trace.write_text(text)
    for command in ("replay", "show"):
        line = one_line(run(command, trace, check=2))
        assert says in line and "bug.json" in line


def test_an_absent_trace(tmp_path):
    assert "No such file" in one_line(run("replay", tmp_path / "absent.json", check=2))


def test_a_folder_that_cannot_be_written_to(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    for args in (("--out", blocked / "traces"), ("--json", blocked / "campaign.json")):
        done = run("fuzz", "reference", "--max-runs", 1, *args, cwd=tmp_path, check=2)
        assert "cannot write to" in one_line(done)


def test_a_json_file_that_is_a_folder(tmp_path):
    done = run("fuzz", "reference", "--max-runs", 1, "--json", tmp_path, cwd=tmp_path, check=2)
    assert "that is a folder" in one_line(done)


def test_a_closed_terminal_is_no_violation(tmp_path):
    report = tmp_path / "campaign.json"
    args = ["fuzz", "reference", "--max-runs", "10", "--json", str(report), "--out", str(tmp_path / "out")]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*FUZZRESUME, *args], stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert done.returncode == 3 and "Traceback" not in done.stderr, done.stderr
    assert "Terminal gave up" in json.loads(report.read_text())["targets"][0]["troubles"][0]


def test_explain():
    assert "fork determinism" in run("explain", "RR-FD", check=0).stdout
    assert run("explain", "fd", check=0).stdout == run("explain", "RR-FD", check=0).stdout
    assert "RR-LV" in one_line(run("explain", "RR-XX", check=2))


def test_targets():
    shown = run("targets", check=0).stdout
    for word in ("reference", "mutant", "langgraph", "fuzzresume[langgraph]"):
        assert word in shown.replace("\n", "")


def test_a_mutant_is_found_shown_and_replayed_from_elsewhere(tmp_path):
    out, report = tmp_path / "out", tmp_path / "campaign.json"
    args = ("fuzz", "mutant", "-o", "fault=ForkIgnore", "--max-runs", 20, "--seed", 3, "--no-tlc")
    run(*args, "--out", out, "--json", report, cwd=tmp_path, check=1)
    campaign = json.loads(report.read_text())
    assert campaign["schema"] == "fuzzresume.campaign/1" and campaign["exit_code"] == 1
    (target,) = campaign["targets"]
    assert target["verdicts"]["FD"]["verdict"] == "violated"
    (finding,) = [f for f in target["findings"] if f["property"] == "FD"]
    assert finding["explained_by"] == [["ForkIgnore"]] and finding["confirmed"] == "3/3"
    assert len(finding["commands"]) == finding["length"] == 3
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    trace = Path(finding["trace"])
    assert "reproduces" in run("replay", trace, cwd=elsewhere, check=1).stdout
    assert "RR-FD" in run("show", trace, cwd=elsewhere, check=0).stdout
    honest = trace.read_text().replace('"target": "mutant"', '"target": "reference"').replace('"fault": "ForkIgnore"', "")
    (elsewhere / "honest.json").write_text(honest)
    assert "no longer reproduces" in run("replay", "honest.json", cwd=elsewhere, check=0).stdout
    other = json.loads(trace.read_text())
    other["found"].update({"property": "EO", "explained_by": [["Replay"]]})
    (elsewhere / "other.json").write_text(json.dumps(other))
    assert "no longer reproduces: it now violates FD" in run("replay", "other.json", cwd=elsewhere, check=0).stdout


def test_the_same_seed_gives_the_same_file(tmp_path):
    def campaign(name):
        path = tmp_path / name
        args = ("fuzz", "mutant", "-o", "fault=Misroute", "--max-runs", 25, "--no-tlc")
        run(*args, "--json", path, "--out", tmp_path / "out", check=1)
        document = json.loads(path.read_text())
        for target in document["targets"]:
            del target["seconds"]
        return document

    assert campaign("one.json") == campaign("two.json")


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGINT, signal.SIGINT], [signal.SIGTERM]])
def test_interrupted_campaigns_keep_what_they_found(tmp_path, signals):
    report = tmp_path / "campaign.json"
    out = tmp_path / "out"
    args = ["fuzz", "mutant", "-o", "fault=Replay", "--max-time", "100s", "--json", str(report), "--out", str(out)]
    process = subprocess.Popen([*FUZZRESUME, *args], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    for line in process.stdout:
        if "commands · confirmed" in line or "confirmed 3/3" in line:
            break
    for number in signals:
        os.killpg(process.pid, number)
    rest = process.stdout.read()
    assert process.wait(timeout=60) == 130
    assert "interrupted" in rest and "Traceback" not in rest
    document = json.loads(report.read_text())
    assert document["exit_code"] == 130
    assert document["targets"][0]["findings"]
    assert Path(document["targets"][0]["findings"][0]["trace"]).exists()


def test_a_phase_that_does_not_exist_is_named(tmp_path):
    line = one_line(run("fuzz", "mutant", "--phases", "tour,rondom", "--out", tmp_path, check=2))
    assert "rondom" in line and "regress, enumerate, tour, random, race, minimise" in line


def test_phases_that_run_nothing_are_refused(tmp_path):
    assert "nothing would be run" in one_line(run("fuzz", "mutant", "--phases", "minimise", "--out", tmp_path, check=2))


def test_a_profile_that_is_not_there(tmp_path):
    assert "there is no such file" in one_line(run("fuzz", "mutant", "--profile", tmp_path / "none.json", check=2))


def test_known_findings_do_not_fail_and_are_a_line_each(tmp_path):
    common = ["fuzz", "mutant", "-o", "fault=ForkIgnore", "--no-tlc"]
    run(*common, "--max-runs", 10, "--out", tmp_path / "first", check=1)
    again = [*common, "--seed", 1, "--max-runs", 100, "--out", tmp_path / "second", "--json", tmp_path / "two.json"]
    done = run(*again, "--profile", tmp_path / "first", check=0)
    (target,) = json.loads((tmp_path / "two.json").read_text())["targets"]
    (known,) = target["known"]
    assert target["findings"] == [] and known["property"] == "FD" and known["seen"] > 1
    lines = done.stdout.splitlines()
    assert next(line for line in lines if line.strip().startswith(f"known {known['name']}")).endswith("still shows")
    assert not list((tmp_path / "second").rglob("*.json"))


def test_the_report_says_what_was_covered(tmp_path):
    run(
        "fuzz", "reference", "--max-runs", 40, "--phases", "enumerate,tour", "--json", tmp_path / "c.json", "--out", tmp_path
    )
    (target,) = json.loads((tmp_path / "c.json").read_text())["targets"]
    coverage = target["coverage"]
    assert coverage["pairs"][0] + len(coverage["unreached"]) == coverage["pairs"][1]
    assert {"state", "command", "why"} == set(coverage["unreached"][0])
    assert [phase["name"] for phase in target["phases"]] == ["enumerate", "tour"]
    assert sum(phase["runs"] for phase in target["phases"]) == target["runs"] == 40
    assert target["sentence"].startswith("reference@") and len(target["depths"]) == 2


def test_a_trace_from_elsewhere_is_shrunk(tmp_path):
    out = tmp_path / "raw"
    run("fuzz", "mutant", "-o", "fault=RestartMix", "--phases", "tour", "--max-runs", 20, "--no-tlc", "--out", out, check=1)
    (raw,) = out.rglob("*.json")
    before = raw.read_bytes()
    done = run("shrink", raw, check=1)
    small = raw.with_name(f"{raw.stem}.small.json")
    assert "1-minimal" in done.stdout and "confirmed 3/3" in done.stdout and raw.read_bytes() == before
    assert len(json.loads(small.read_text())["commands"]) == 3 < len(json.loads(before)["commands"])
    run("replay", small, check=1)


def test_what_the_contract_admits_is_not_shrunk(tmp_path):
    trace = json.loads(next((Path(__file__).parents[2] / "shrinks").glob("*/FD-*/trace.json")).read_text())
    trace |= {"target": "reference", "options": {}, "packages": {}}
    (tmp_path / "fine.json").write_text(json.dumps(trace))
    assert "nothing to shrink" in run("shrink", tmp_path / "fine.json", check=0).stdout
    assert list(tmp_path.iterdir()) == [tmp_path / "fine.json"]
    assert "no.json" in one_line(run("shrink", tmp_path / "no.json", check=2))
