"""Targets in environments of their own: real environments, of a toy framework whose wheels lie in a folder."""

from __future__ import annotations

import os
import shutil
import signal
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import harness_fake
import pytest
from typer.testing import CliRunner

from fuzzresume.campaign.replay import replay_trace
from fuzzresume.cli import app
from fuzzresume.cli_run import workspace
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.trace import Trace
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness import environments, pinned
from fuzzresume.harness import target as module
from fuzzresume.harness.attendant import WorkerError
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.environments import environment
from fuzzresume.harness.remote import RemoteAdapter
from fuzzresume.harness.sessions import MODES, open_session
from fuzzresume.harness.target import AdapterSlip, BadOption, NoEnvironment, Target, UnknownTarget, parse_target
from fuzzresume.report.exit_codes import Exit

WORKLOAD = Workload.linear(2, {2: 1})
ANSWER = Command("resume", Token(Question(2, 1), 1))

THEIRS = """
import toyframe

class Adapter(FileEngine):
    name = "theirs"
    packages = ("toyframe",)

    def capabilities(self, options):
        return replace(super().capabilities(options), fork=f"as of {toyframe.VERSION}")

ADAPTER = Adapter()
"""


def wheel(folder: Path, version: str) -> None:
    name = f"toyframe-{version}"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as file:
        file.writestr("toyframe.py", f"VERSION = {version!r}\n")
        file.writestr(f"{name}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: toyframe\nVersion: {version}\n")
        file.writestr(
            f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{name}.dist-info/RECORD", "toyframe.py,,\n")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place that has packages, and nothing is kept from elsewhere."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for version in ("1.0", "2.0"):
        wheel(folder, version)
    for name, value in {"UV_FIND_LINKS": folder, "UV_NO_INDEX": 1, "UV_OFFLINE": 1, "UV_CACHE_DIR": tmp_path / "uv"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv(environments.CACHE_VARIABLE, str(tmp_path / "cache"))
    return folder


@pytest.fixture
def theirs(tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An adapter of somebody else's, registered by entry point; its framework is not installed here."""
    package = tmp_path / "path" / "theirs"
    package.mkdir(parents=True)
    source = Path(harness_fake.__file__).read_text()
    (package / "__init__.py").write_text(source + "\nfrom dataclasses import replace\n" + THEIRS)
    monkeypatch.syspath_prepend(package.parent)
    point = SimpleNamespace(
        name="theirs", value="theirs:ADAPTER", dist=SimpleNamespace(name="theirs", requires=["fuzzresume", "toyframe>=1"])
    )
    monkeypatch.setattr(module.metadata, "entry_points", lambda **_: (point,))
    yield
    pinned.hang_up()


def test_an_environment_is_built_once_and_named_by_its_versions(wheels: Path) -> None:
    said: list[str] = []
    first = environment("toy", ["toyframe==1.0"], say=said.append)
    assert (first.folder / environments.READY).read_text().split() == ["toyframe==1.0"]
    assert environment("toy", ["toyframe<2"], say=said.append) == first
    assert environment("toy", ["toyframe"], say=said.append) != first
    assert len(said) == 2


def test_what_was_answered_needs_no_index_and_latest_asks_again(wheels: Path) -> None:
    old = environment("toy", ["toyframe"])
    wheel(wheels, "3.0")
    assert environment("toy", ["toyframe"]) == old
    new = environment("toy", ["toyframe"], fresh=True)
    assert (new.folder / environments.READY).read_text().split() == ["toyframe==3.0"]
    shutil.rmtree(wheels)
    assert environment("toy", ["toyframe"]) == new
    with pytest.raises(NoEnvironment, match="no environment for toy: "):
        environment("toy", ["toyframe"], fresh=True)


def test_a_version_that_does_not_exist_is_one_line_and_leaves_nothing(wheels: Path, tmp_path: Path) -> None:
    with pytest.raises(NoEnvironment, match=r"toyframe==9") as caught:
        environment("toy", ["toyframe==9"])
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "cache").rglob("toy*"))


def test_what_is_left_of_an_environment_is_built_again(wheels: Path, tmp_path: Path) -> None:
    found = environment("toy", ["toyframe==1.0"])
    (found.folder / environments.READY).unlink()
    (found.folder / "bin" / "python").unlink()
    assert environment("toy", ["toyframe==1.0"]).python.exists()
    (found.folder / "bin" / "python").unlink()
    assert environment("toy", ["toyframe==1.0"]).python.exists()
    (answer,) = (tmp_path / "cache" / "environments" / "resolved").iterdir()
    answer.write_text("")
    assert environment("toy", ["toyframe==1.0"]) == found


def test_a_cache_that_cannot_be_used_is_one_line(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(environments.CACHE_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(NoEnvironment, match=r"no environment for toy: .*file"):
        environment("toy", ["toyframe"])


@pytest.mark.parametrize("mode", MODES)
def test_two_versions_side_by_side(theirs: None, tmp_path: Path, mode: str) -> None:
    for version in ("1.0", "2.0"):
        target = parse_target(f"theirs@{version}")
        assert (target.label, target.packages) == (f"theirs@{version}", {"toyframe": version})
        assert target.capabilities.fork == f"as of {version}"
        with open_session(target, WORKLOAD, tmp_path / version, mode) as session:
            died = session.execute(Command("start", crash=CrashPoint("effect.after:1")))
            assert (died.outcome.kind, [m.text for m in died.effects]) == ("crashed", ["1"])
            parked = session.execute(Command("recover"))
            assert [str(asked.question) for asked in parked.outcome.asked] == [str(Question(2, 1))]
            assert session.execute(Command("recover2")).twin is not None
            with session.copied(tmp_path / f"{version}-copy") as copy:
                done = copy.execute(ANSWER)
                assert done.outcome.kind == "completed" and done.after.done == (1, 2)
                assert copy.standing() != session.standing()
            assert session.execute(ANSWER).hooks == done.hooks


def test_latest_is_the_newest(theirs: None) -> None:
    assert parse_target("theirs@latest").label == "theirs@2.0"


def test_mistakes_are_told_as_everywhere(theirs: None, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="store cannot be 'tape'"):
        parse_target("theirs@1.0", {"store": "tape"})
    with pytest.raises(NoEnvironment):
        parse_target("theirs@7.0")
    for text in ("theirs@", "theirs@1.0\nsix", "theirs@>=1", "theirs@1.0;x", "theirs@1.0 #/a"):
        with pytest.raises(UnknownTarget, match="names no version"):
            parse_target(text)
    with pytest.raises(NoEnvironment, match=r"the adapter cannot drive toyframe 1.0: OSError: the store cannot be opened"):
        parse_target("theirs@1.0", {"trouble": "build"})
    target = parse_target("theirs@1.0", {"trouble": "no-inspect"})
    with open_session(target, WORKLOAD, tmp_path / "run") as session:
        session.execute(Command("start"))
        with pytest.raises(Unsupported, match="there is no inspection"):
            session.execute(Command("inspect"))
    slipping = parse_target("theirs@1.0", {"trouble": "slip"})
    with open_session(slipping, WORKLOAD, tmp_path / "slip") as session:
        session.execute(Command("start"))
        with pytest.raises(AdapterSlip, match="the adapter slipped in fork: AttributeError"):
            session.execute(Command("fork", Token(Question(2, 1), 9)))
    with pytest.raises(Unsupported, match="keeps its store in memory"):
        open_session(parse_target("theirs@1.0", {"store": "memory"}), WORKLOAD, tmp_path / "memory", "forked")


def test_a_dead_host_is_an_error_once_and_then_another_host(theirs: None, tmp_path: Path) -> None:
    target = parse_target("theirs@1.0")
    assert isinstance(target.adapter, RemoteAdapter)
    session = open_session(target, WORKLOAD, tmp_path / "one")
    os.kill(target.adapter.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match=r"the host is gone|no session of that number"):
        session.execute(Command("start"))
    with open_session(target, WORKLOAD, tmp_path / "two") as other:
        assert other.execute(Command("start")).outcome.kind == "parked"


def test_a_trace_is_replayed_on_the_versions_that_it_recorded(theirs: None) -> None:
    trace = Trace("theirs", {}, WORKLOAD, (Command("start"), ANSWER), {"toyframe": "1.0"})
    with workspace(WORKLOAD) as executor:
        assert replay_trace(executor, trace).words.startswith("cannot run: target theirs needs toyframe")
        assert replay_trace(executor, trace, exact=True).words == "no longer reproduces: the contract admits all 2 commands"
        for packages, says in (
            ({}, "no version of theirs was recorded"),
            ({"toyframe": "1.0\nsix"}, "that is no version"),
            ({"six": "1.0"}, "theirs cannot be had with 'six'"),
        ):
            assert says in replay_trace(executor, replace(trace, packages=packages), exact=True).words


def test_a_target_without_a_framework_has_no_versions() -> None:
    with pytest.raises(UnknownTarget, match="reference has no framework"):
        parse_target("reference@0.0.1")
    assert Target(parse_target("reference").adapter).label.startswith("reference@")


def test_other_targets_go_on_without_an_environment(wheels: Path, tmp_path: Path) -> None:
    command = ["fuzz", "langgraph@9.9", "reference", "--max-runs", "2", "--no-tlc", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == Exit.UNDETERMINED and "reference@" in done.stdout
    assert done.stderr.splitlines()[0].startswith("fuzzresume: no environment for langgraph@9.9: ")
    alone = CliRunner().invoke(app, ["fuzz", "langgraph@9.9", "--max-runs", "2", "--no-tlc", "--out", str(tmp_path / "out")])
    assert alone.exit_code == Exit.UNDETERMINED


def test_prepare_builds_what_is_missing_and_says_what_is_in_it(theirs: None) -> None:
    done = CliRunner().invoke(app, ["prepare", "theirs@1.0", "reference"])
    assert done.exit_code == Exit.OK and done.stdout.startswith("theirs@1.0  toyframe 1.0\nreference@")
    assert CliRunner().invoke(app, ["prepare", "theirs@9"]).exit_code == Exit.UNDETERMINED
    assert CliRunner().invoke(app, ["prepare", "nothing"]).exit_code == Exit.USAGE
