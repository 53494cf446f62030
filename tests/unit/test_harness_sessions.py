"""What a session owes in process and from images, on a small honest engine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Mark, Question, Token, Workload
from fuzzresume.harness.calls import Call, CallOp, Resident
from fuzzresume.harness.env import Env, TaskFailure, Unsupported
from fuzzresume.harness.images import ImageSession
from fuzzresume.harness.keeper import FILES
from fuzzresume.harness.ledger import MemoryLedger
from fuzzresume.harness.session import Session, crash_points
from fuzzresume.harness.sessions import Mode, open_session
from fuzzresume.harness.snapshot import Snapshot
from fuzzresume.harness.target import AdapterSlip, Target

sys.path.insert(0, str(Path(__file__).parent))
import harness_fake

Q1, Q2 = Question(2, 1), Question(2, 2)
A, B, C = Token(Q1, 1), Token(Q2, 2), Token(Q1, 3)
WORKLOAD = Workload.linear()

both = pytest.mark.parametrize("mode", ["in-process", "images"])


def session(folder: Path, mode: Mode = "in-process", **options: str) -> Session:
    return open_session(Target(harness_fake.ADAPTER, options), WORKLOAD, folder / "run", mode)


def run(to: Session, *commands: Command) -> list[Observation]:
    return [to.execute(command) for command in commands]


def compared(observation: Observation) -> Observation:
    """Without what is never compared between crash points that leave one state."""
    return replace(observation, hooks=(), entries=tuple(e for e in observation.entries if e.kind != "exit"))


@both
def test_a_run_without_trouble(tmp_path: Path, mode: Mode) -> None:
    with session(tmp_path, mode) as s:
        start, one, two = run(s, Command("start"), Command("resume", A), Command("resume", B))
    assert [asked.question for asked in start.outcome.asked] == [Q1]
    assert start.before.done == () and start.after.done == (1,)
    assert [o.outcome.kind for o in (start, one, two)] == ["parked", "parked", "completed"]
    assert two.effects == (Mark(2, (A.text, B.text)), Mark(3))
    assert two.outcome.marks == (Mark(1), Mark(2, (A.text, B.text)), Mark(3))
    assert two.after.done == (1, 2, 3)
    assert start.hooks[:3] == ("effect.before:1", "effect.after:1", "put.before")


class Stumbling:
    """An adapter, and a life, that breaks in every call in its own way."""

    name, packages = "stumbling", ()

    def __init__(self, breaks: Callable[[Env], object]) -> None:
        self.breaks = breaks

    def life(self, env: Env) -> Stumbling:
        self.env = env
        return self

    def start(self) -> object:
        return self.breaks(self.env)

    def recover(self) -> None:
        raise AssertionError("it does not take what it is given")


def swallows_a_failure(env: Env) -> None:
    try:
        env.hook("effect.before:1")
    except TaskFailure as failure:
        failure.no_such_field  # noqa: B018


def dies_untidily(env: Env) -> None:
    try:
        env.hook("put.after")
    except SystemExit:
        env.no_such_field  # noqa: B018


def says_on_purpose(env: Env) -> None:
    raise TypeError("the note must be a string")


def resident(breaks: Callable[[Env], object]) -> Resident:
    return Resident(Stumbling(breaks), Env(Path(), {}, WORKLOAD, ledger=MemoryLedger()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("breaks", "op", "says"),
    [
        (lambda env: env.no_such_field, "start", r"AttributeError: .*no_such_field.* \(test_harness_sessions.py:\d+\)$"),
        (lambda env: no_such_name, "start", r"NameError: .* \(test_harness_sessions.py:\d+\)$"),  # type: ignore[name-defined]  # noqa: F821
        (lambda env: env.hook(), "start", r"TypeError: .*missing 1 required .* \(test_harness_sessions.py:\d+\)$"),
        (lambda env: __import__("no_such_module"), "start", r"ModuleNotFoundError: .* \(test_harness_sessions.py:\d+\)$"),
        (says_on_purpose, "recover", r"TypeError: .*unexpected keyword argument 'branch'$"),
        (says_on_purpose, "inspect", r"AttributeError: 'Stumbling' object has no attribute 'inspect'$"),
    ],
)
def test_a_mistake_in_the_adapter_s_own_code_is_no_refusal(breaks: Callable[[Env], object], op: CallOp, says: str) -> None:
    with pytest.raises(AdapterSlip, match=f"^the adapter slipped in {op}: {says}"):
        resident(breaks).perform(Call(op))


@pytest.mark.parametrize(
    ("breaks", "crash", "outcome"),
    [
        (lambda env: json.loads(None), None, "refused TypeError"),  # type: ignore[arg-type]
        (lambda env: Mark.parse(None), None, "refused AttributeError"),  # type: ignore[arg-type]
        (lambda env: {}["key"], None, "refused KeyError"),
        (says_on_purpose, None, "refused TypeError"),
        (swallows_a_failure, CrashPoint("effect.before:1", by="exception"), "failed "),
        (dies_untidily, CrashPoint("put.after"), "crashed "),
    ],
)
def test_what_comes_from_elsewhere_or_is_planted_is_no_slip(
    breaks: Callable[[Env], object], crash: CrashPoint | None, outcome: str
) -> None:
    found = resident(breaks).perform(Call("start", crash=crash))
    assert f"{found.kind} {found.error or ''}" == outcome


def test_modules_beside_the_adapter_s_are_its_own_and_the_framework_s_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """`harness.env` stands for a module beside the adapter: both lie in the package `fuzzresume.harness`."""
    monkeypatch.setattr(Stumbling, "__module__", "fuzzresume.harness.adapter")
    breaks = partial(Env.enter, object())
    with pytest.raises(AdapterSlip, match=r"no attribute 'dead' \(env.py:\d+\)$"):
        resident(breaks).perform(Call("start"))
    monkeypatch.setattr(Stumbling, "packages", ("FuzzResume",))
    assert resident(breaks).perform(Call("start")).kind == "refused"


@pytest.mark.parametrize(("mode", "store"), [("in-process", "file"), ("in-process", "memory"), ("images", "file")])
def test_a_kill_leaves_what_was_durable(tmp_path: Path, mode: Mode, store: str) -> None:
    with session(tmp_path, mode, store=store) as s:
        run(s, Command("start"), Command("resume", A))
        crashed = s.execute(Command("resume", B, crash=CrashPoint("put.before", 2)))
        assert crashed.outcome.kind == "crashed"
        assert crashed.effects == (Mark(2, (A.text, B.text)),)
        assert crashed.before.done == crashed.after.done == (1,)
        assert crashed.hooks[-1] == "put.before"
        recovered = s.execute(Command("recover"))
    assert recovered.effects == (Mark(2, (A.text, B.text)), Mark(3))
    assert recovered.outcome.kind == "completed"


@both
def test_a_point_that_is_not_passed_is_void(tmp_path: Path, mode: Mode) -> None:
    with session(tmp_path, mode) as s:
        assert s.execute(Command("start", crash=CrashPoint("put.before", 9))).outcome.kind == "parked"
        assert s.execute(Command("resume", A)).outcome.kind == "parked"


@both
def test_the_task_s_own_exception_is_a_failure_even_when_wrapped(tmp_path: Path, mode: Mode) -> None:
    with session(tmp_path, mode) as s:
        failed = s.execute(Command("start", crash=CrashPoint("effect.after:1", by="exception")))
        assert (failed.outcome.kind, failed.outcome.task) == ("failed", 1)
        retried = s.execute(Command("retry"))
    assert retried.outcome.kind == "parked" and retried.effects == (Mark(1),)


def test_a_framework_that_swallows_the_death_has_crashed(tmp_path: Path) -> None:
    with session(tmp_path, trouble="swallow") as s:
        assert s.execute(Command("start", crash=CrashPoint("effect.before:1"))).outcome.kind == "crashed"


def test_a_dead_life_cannot_touch_the_next_one(tmp_path: Path) -> None:
    with session(tmp_path) as s:
        s.execute(Command("start"))
        env = s._host.env  # type: ignore[union-attr]
        s.execute(Command("resume", A, crash=CrashPoint("put.before")))
        assert s.store.folder != env.folder and not env.folder.exists()
        with pytest.raises(SystemExit):
            env.body(1)
        with pytest.raises(SystemExit):
            env.enter(1)
        assert s.execute(Command("inspect")).entries == ()


def test_a_dropped_life_cannot_act_either(tmp_path: Path) -> None:
    with session(tmp_path) as s:
        s.execute(Command("start"))
        env = s._host.env  # type: ignore[union-attr]
        s.execute(Command("reload"))
        with pytest.raises(SystemExit):
            env.body(2)


def test_a_crash_point_lasts_as_long_as_its_command(tmp_path: Path) -> None:
    with session(tmp_path) as s:
        s.execute(Command("start", crash=CrashPoint("close")))
        life = s._host._resident._life  # type: ignore[union-attr]
        s.execute(Command("reload"))
    assert life.closed


def test_a_snapshot_is_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "empty").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"\0x")
    taken = FILES.take(tmp_path / "a")
    FILES.make(tmp_path / "copy")
    FILES.fill(tmp_path / "copy", taken)
    assert (tmp_path / "copy" / "b" / "empty").is_dir() and (tmp_path / "copy" / "b" / "file").read_bytes() == b"\0x"
    assert Snapshot.take(tmp_path / "copy").digest == taken.digest
    (tmp_path / "copy" / "b" / "empty").rmdir()
    assert Snapshot.take(tmp_path / "copy").digest != taken.digest
    with pytest.raises(FileExistsError):
        FILES.make(tmp_path / "copy")


def test_a_memory_store_is_copied_at_a_death(tmp_path: Path) -> None:
    with session(tmp_path, store="memory") as s:
        s.execute(Command("start"))
        old = s.store.memory
        s.execute(Command("resume", A, crash=CrashPoint("put.before")))
        old.clear()
        assert s.execute(Command("resume", A)).outcome.kind == "parked"


@pytest.mark.parametrize("mode", ["images", "forked"])
def test_a_memory_store_dies_only_in_process(tmp_path: Path, mode: Mode) -> None:
    with pytest.raises(Unsupported, match="memory"):
        session(tmp_path, mode, store="memory")


def test_an_unfaithful_death_is_not_tried(tmp_path: Path) -> None:
    with pytest.raises(Unsupported):
        session(tmp_path, "images", trouble="unfaithful")
    with session(tmp_path, trouble="unfaithful") as s:
        with pytest.raises(Unsupported):
            s.execute(Command("start", crash=CrashPoint("put.before")))
        assert s.execute(Command("start", crash=CrashPoint("effect.before:1", by="exception"))).outcome.kind == "failed"


def test_what_an_adapter_cannot_build_is_a_refusal(tmp_path: Path) -> None:
    with session(tmp_path, trouble="build") as s:
        outcome = s.execute(Command("start")).outcome
    assert (outcome.kind, outcome.error, outcome.message) == ("refused", "OSError", "the store cannot be opened")


def test_fresh_and_present_lives(tmp_path: Path) -> None:
    with session(tmp_path) as s:
        hosts = []
        for command in (Command("start"), Command("retry"), Command("inspect"), Command("recover")):
            s.execute(command)
            hosts.append(s._host)
        assert hosts[0] is hosts[1] is hosts[2] is not hosts[3]
        reloaded = s.execute(Command("reload"))
        assert s._host is None
    assert reloaded.outcome.kind == "inert" and reloaded.before == reloaded.after


def test_poison_is_refused_and_needs_a_schema(tmp_path: Path) -> None:
    with session(tmp_path) as s:
        poisoned = s.execute(Command("start", poison=1))
    assert (poisoned.outcome.kind, poisoned.outcome.error) == ("refused", "TypeError")
    assert poisoned.late and poisoned.after.done == ()


def test_tamper_drops_the_life_and_damages_the_store(tmp_path: Path) -> None:
    with session(tmp_path) as s:
        s.execute(Command("start"))
        tampered = s.execute(Command("tamper", kind="truncated"))
        assert tampered.before.done == (1,) and tampered.after.done is None and tampered.after.why
        refused = s.execute(Command("recover"))
        assert refused.outcome.kind == "refused" and not refused.effects
        with pytest.raises(Unsupported):
            s.execute(Command("tamper", kind="empty"))


def test_addresses_are_needed_before_anything_is_sent(tmp_path: Path) -> None:
    with session(tmp_path) as s:
        for command in (Command("resume", A, at="question"), Command("fork", A)):
            with pytest.raises(Unsupported, match="no address"):
                s.execute(command)
        assert s._host is None and not s.ledger_path.exists()
        s.execute(Command("start"))
        assert s.execute(Command("resume", A, at="question")).outcome.kind == "parked"


def test_a_served_fork_leaves_the_trunk_and_its_addresses(tmp_path: Path) -> None:
    with session(tmp_path) as s:
        run(s, Command("start"), Command("resume", A))
        assert s.branches.trunk_head is None
        forked = s.execute(Command("fork", C))
        trunk_head = s.branches.trunk_head
        assert trunk_head is not None and forked.before.done == (1,)
        assert s.branches.trunk[Q2] == trunk_head and s.branches.latest[Q2] != trunk_head
        ended = s.execute(Command("resume", B))
        assert ended.effects[0] == Mark(2, (C.text, B.text)) and ended.after.done == (1, 2, 3)
        other = Token(Q2, 4)
        trunk = s.execute(Command("resume", other, branch="trunk"))
        assert trunk.before.done == (1,) and trunk.after.done == (1, 2, 3)
        assert trunk.effects[0] == Mark(2, (A.text, other.text))
        assert s.branches.trunk_head not in (None, trunk_head)


def test_a_trunk_command_that_writes_nothing_keeps_the_trunk(tmp_path: Path) -> None:
    with session(tmp_path) as s:
        run(s, Command("start"), Command("resume", A), Command("fork", C), Command("resume", B))
        trunk_head = s.branches.trunk_head
        read = s.execute(Command("inspect", branch="trunk"))
        assert read.before.done == read.after.done == (1,)
        assert s.branches.trunk_head == trunk_head


@pytest.mark.parametrize(("hook", "nth", "served"), [("put.half", 1, False), ("put.after", 1, True)])
@both
def test_a_fork_that_died_was_served_only_if_it_moved_the_store(
    tmp_path: Path, mode: Mode, hook: str, nth: int, served: bool
) -> None:
    with session(tmp_path, mode) as s:
        run(s, Command("start"), Command("resume", A), Command("resume", B))
        died = s.execute(Command("fork", C, crash=CrashPoint(hook, nth)))
        assert died.outcome.kind == "crashed" and died.before.done == (1,)
        assert s.branches.forked is served
        assert died.after.done == ((1,) if served else (1, 2, 3))


def test_a_refused_fork_shows_the_trunk(tmp_path: Path) -> None:
    with session(tmp_path, trouble="no-fork") as s:
        run(s, Command("start"), Command("resume", A), Command("resume", B))
        refused = s.execute(Command("fork", C))
        assert refused.outcome.kind == "refused" and refused.after.done == (1, 2, 3)
        assert not s.branches.forked


def test_restart_ends_branches(tmp_path: Path) -> None:
    with session(tmp_path) as s:
        run(s, Command("start"), Command("resume", A), Command("fork", C))
        again = s.execute(Command("restart"))
        assert again.after.done == (1,) and not s.branches.forked and s.branches.trunk_head is None
        assert set(s.branches.trunk) == {Q1} and not s.branches.latest


@both
def test_twins_recover_from_equal_copies(tmp_path: Path, mode: Mode) -> None:
    with session(tmp_path, mode) as s:
        run(s, Command("start"), Command("resume", A))
        s.execute(Command("resume", B, crash=CrashPoint("effect.after:2")))
        both_ = s.execute(Command("recover2"))
        assert both_.twin is not None
        assert both_.outcome == both_.twin.outcome and both_.entries == both_.twin.entries != ()
        assert both_.twin.after.done == both_.after.done == (1, 2, 3)
        assert s.execute(Command("recover")).effects == ()
        assert not list(s.folder.glob("twin*"))


def test_crash_points_are_what_was_passed(tmp_path: Path) -> None:
    assert crash_points(["put.before", "effect.before:1", "put.before"]) == [
        CrashPoint("put.before"),
        CrashPoint("effect.before:1"),
        CrashPoint("effect.before:1", 1, "exception"),
        CrashPoint("put.before", 2),
    ]


def test_a_sweep_shows_what_each_kill_shows(tmp_path: Path) -> None:
    """Every point of a sweep equals the planted kill, in observation and in recovery."""
    with session(tmp_path / "swept", "images") as s:
        assert isinstance(s, ImageSession)
        run(s, Command("start"), Command("resume", A))
        sweep = s.sweep(Command("resume", B))
        assert sweep.observation.outcome.kind == "completed" and sweep.observation.after.done == (1, 2, 3)
        assert [p for image in sweep.images for p in image.points] == [
            p for p in crash_points(sweep.observation.hooks) if p.by == "kill"
        ]
        assert len(sweep.images) < len(sweep.observation.hooks)
        for number, image in enumerate(sweep.images):
            with s.session_at(image, tmp_path / f"on-{number}") as went_on:
                from_image = went_on.execute(Command("recover"))
            for point in image.points:
                with session(tmp_path / f"died-{number}-{point.hook}-{point.nth}") as died:
                    run(died, Command("start"), Command("resume", A))
                    crashed = died.execute(Command("resume", B, crash=point))
                    assert compared(crashed) == compared(image.observation)
                    assert died.execute(Command("recover")) == from_image


def test_a_sweep_is_of_one_call_without_a_kill(tmp_path: Path) -> None:
    with session(tmp_path, "images") as s:
        assert isinstance(s, ImageSession)
        for command in (Command("reload"), Command("recover2"), Command("start", crash=CrashPoint("put.before"))):
            with pytest.raises(ValueError, match="swept"):
                s.sweep(command)


def test_an_image_carries_what_the_controller_knew(tmp_path: Path) -> None:
    with session(tmp_path, "images") as s:
        assert isinstance(s, ImageSession)
        run(s, Command("start"), Command("resume", A))
        images = s.sweep(Command("fork", C)).images
        with s.session_at(images[-1], tmp_path / "on") as went_on:
            assert went_on.branches.forked
            assert went_on.execute(Command("resume", B, branch="trunk")).effects[0] == Mark(2, (A.text, B.text))
        with s.session_at(images[0], tmp_path / "on-first") as went_on:
            assert not went_on.branches.forked


def test_the_cut_ledger_holds_no_effect_after_the_photograph(tmp_path: Path) -> None:
    with session(tmp_path, "images") as s:
        s.execute(Command("start", crash=CrashPoint("effect.before:1")))
        assert b'"effect"' not in s.ledger_path.read_bytes()
        assert s.execute(Command("recover")).effects == (Mark(1),)
