"""The pytest plugin: campaigns as tests. Registered by entry point, so it is loaded in every pytest run of an environment
that has fuzzresume; until it is used it therefore imports nothing but pytest.

    pytest --fuzzresume-target langgraph --fuzzresume-max-time 60s

adds a test for each target and property. In a test-suite, the fixture `fuzzresume` runs a campaign, and `recovery` turns the
shape of a workflow into tests:

    def test_forks_are_served_their_own_answer(fuzzresume):
        fuzzresume("langgraph", max_runs=50, options={"api": "functional"}).assert_holds("FD")

    @recovery(max_runs=100)
    class Approval:
        adapter = "langgraph"
        workload = Workload.linear(4, gates={2: 1, 4: 2})

A property is one test, and all its findings are in that test's message: what is found is not known when tests are
collected. Violated fails; documented passes and says so; inapplicable is skipped, and so is unexercised, which says that the
campaign was too small, not that the framework is wrong. Neither is ever a pass.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from fuzzresume.contract.workload import Workload
    from fuzzresume.harness.adapter import Adapter
    from fuzzresume.pytest_campaign import Asked, Told

MARK = "_fuzzresume_recovery"
"""The attribute of a class that `recovery` decorated."""

SHARED = "fuzzresume_folder"
"""What a worker of pytest-xdist is told: where the workers of this run put what their campaigns said."""

C = TypeVar("C", bound=type)


@dataclass
class _Session:
    """What the command line says, and the campaigns that ran: one for each key, whoever asks."""

    options: dict[str, str]
    max_runs: int | None
    max_time: str | None
    seed: int
    out: Path
    shared: Path | None
    told: dict[str, Told] = field(default_factory=dict)

    def asked(
        self,
        adapter: str | Adapter,
        options: Mapping[str, str],
        workload: Workload | None = None,
        max_runs: int | None = None,
        max_time: float | str | None = None,
        seed: int | None = None,
    ) -> Asked:
        """A campaign; what is not said is as the command line has it."""
        from fuzzresume.pytest_campaign import Asked

        if max_runs is None and max_time is None:
            max_runs, max_time = self.max_runs, self.max_time
        return Asked(adapter, options, workload, max_runs, max_time, self.seed if seed is None else seed, self.out)

    def once(self, key: str, asked: Asked) -> Told:
        """What the campaign of that key says, run now or before, here or by another worker."""
        from fuzzresume.pytest_campaign import once

        if key not in self.told:
            self.told[key] = once(asked, key, self.shared)
        return self.told[key]


SESSION = pytest.StashKey[_Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options. They are also the defaults of the fixture and of `recovery`."""
    group = parser.getgroup("fuzzresume", "fuzzresume, a fuzzer of the recovery plane of agent frameworks")
    add = group.addoption
    add("--fuzzresume-target", action="append", default=[], metavar="TARGET", help="Fuzz it: a test for each property.")
    add("--fuzzresume-max-runs", type=int, metavar="N", help="Runs of a campaign, after which it ends.")
    add("--fuzzresume-max-time", metavar="T", help="Time for a campaign: 90, 60s, 2m. Default 60s without runs.")
    add("--fuzzresume-seed", type=int, default=0, metavar="N", help="Same seed, same versions: same findings.")
    add("--fuzzresume-option", action="append", default=[], metavar="KEY=VALUE", help="Pin an option of the targets.")
    add("--fuzzresume-out", default=".fuzzresume", metavar="DIR", help="Folder for the traces of findings.")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options. Raises UsageError."""
    pairs = {}
    for pair in config.getoption("--fuzzresume-option"):
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise pytest.UsageError(f"--fuzzresume-option {pair}: write KEY=VALUE")
        pairs[key] = value
    told = getattr(config, "workerinput", {}).get(SHARED)
    config.stash[SESSION] = _Session(
        pairs,
        config.getoption("--fuzzresume-max-runs"),
        config.getoption("--fuzzresume-max-time"),
        config.getoption("--fuzzresume-seed"),
        config.invocation_params.dir / config.getoption("--fuzzresume-out"),
        # Workers on other machines do not see the folder; each runs its own campaigns then.
        Path(told) if told is not None and Path(told).is_dir() else None,
    )
    if targets := config.getoption("--fuzzresume-target"):
        from fuzzresume.pytest_campaign import complaint

        if words := complaint(targets, config.stash[SESSION].asked("", pairs)):
            raise pytest.UsageError(words)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what the workers shared."""
    session = config.stash.get(SESSION, None)
    if session is not None and session.shared is not None and not hasattr(config, "workerinput"):
        shutil.rmtree(session.shared, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist where the workers meet."""
    session = node.config.stash[SESSION]
    if session.shared is None:
        session.shared = Path(tempfile.mkdtemp(prefix="fuzzresume-pytest-"))
    node.workerinput[SHARED] = str(session.shared)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for each target and property."""
    for target in config.getoption("--fuzzresume-target"):
        items += session.genitems(_Campaign.from_parent(session, name=target, nodeid=f"fuzzresume::{target}"))


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> pytest.Class | None:
    """Collect what `recovery` decorated, whatever it is called."""
    if isinstance(obj, type) and MARK in vars(obj):
        return pytest.Class.from_parent(collector, name=name, obj=obj)
    return None


class _Campaign(pytest.Collector):
    """One target of the command line."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each property."""
        from fuzzresume.contract.properties import PROPERTIES

        return (_Property.from_parent(self, name=name) for name in PROPERTIES)


class _Property(pytest.Item):
    """One property of a target of the command line. The first of a target to run runs its campaign."""

    def runtest(self) -> None:
        """Judge it."""
        session = self.config.stash[SESSION]
        target = self.parent.name if self.parent is not None else ""
        told = session.once(f"target {target}", session.asked(target, session.options))
        _judge(self, told, self.name)

    def reportinfo(self) -> tuple[str, None, str]:
        """Where it stands: in no file."""
        return "fuzzresume", None, f"{self.parent.name if self.parent is not None else ''} {self.name}"


@pytest.fixture(name="fuzzresume")
def _fuzzresume(request: pytest.FixtureRequest) -> Callable[..., Told]:
    """Run a campaign: `fuzzresume("langgraph", max_runs=50, options={…}, workload=…).assert_holds("FD")`.

    The first argument is a target's name, `module:ATTRIBUTE` of an adapter, or an adapter. `max_time` are seconds, or words
    such as `30s`; `seed` is that of the command line unless given.
    """
    from fuzzresume.pytest_campaign import fuzz

    session = request.config.stash[SESSION]

    def run(adapter: str | Adapter, *, options: Mapping[str, str] | None = None, **more: Any) -> Told:
        told = fuzz(session.asked(adapter, options or {}, **more))
        if told.missing:
            pytest.skip(f"undetermined: {told.problem}")
        if told.problem:
            pytest.fail(told.problem, pytrace=False)
        return told

    return run


def recovery(
    target: str | Adapter | None = None,
    *,
    options: Mapping[str, str] | None = None,
    workload: Workload | None = None,
    max_runs: int | None = None,
    max_time: float | str | None = None,
    seed: int | None = None,
) -> Callable[[C], C]:
    """Turn a class that describes a workflow into tests, one for each property; its campaign runs once.

    The class has the attributes `adapter` (a target's name, `module:ATTRIBUTE`, or an adapter), `options` and `workload`, as
    a `LinearMachine` has; those given here come first. It can have tests of its own. Raises TypeError for a class without an
    adapter, or with a constructor.
    """

    def decorate(cls: C) -> C:
        from fuzzresume.contract.properties import PROPERTIES

        adapter = target if target is not None else getattr(cls, "adapter", None)
        if adapter is None:
            raise TypeError(f"{cls.__name__} names no adapter; write @recovery('langgraph') or an attribute `adapter`")
        if cls.__init__ is not object.__init__:  # type: ignore[misc]
            raise TypeError(f"{cls.__name__} has a constructor, and pytest has nothing to give it")
        more: dict[str, Any] = {"max_runs": max_runs, "max_time": max_time, "seed": seed}
        more["workload"] = workload if workload is not None else getattr(cls, "workload", None)
        pinned = options if options is not None else getattr(cls, "options", {})

        def test_recovery(self: object, request: pytest.FixtureRequest, code: str) -> None:
            session = request.config.stash[SESSION]
            key = request.node.parent.nodeid
            _judge(request.node, session.once(key, session.asked(adapter, pinned, **more)), code)

        cls.test_recovery = pytest.mark.parametrize("code", list(PROPERTIES))(test_recovery)  # type: ignore[attr-defined]
        setattr(cls, MARK, True)
        return cls

    return decorate


def _judge(item: pytest.Item, told: Told, name: str) -> None:
    """End a test as its verdict says."""
    __tracebackhide__ = True
    if told.missing:
        pytest.skip(f"undetermined: {told.problem}")
    if told.problem:
        pytest.fail(told.problem, pytrace=False)
    said = told.verdicts[name]
    if said.verdict == "violated":
        pytest.fail(told.violated(name), pytrace=False)
    if said.verdict in ("inapplicable", "unexercised"):
        pytest.skip(f"{said.verdict}: {said.why}")
    if told.troubles:
        # Nothing broke the contract, but something hung or broke in the harness.
        pytest.skip(f"undetermined: {told.troubles[0]}")
    if said.verdict == "documented":
        item.user_properties.append(("fuzzresume", f"documented: {said.why}"))
        item.add_report_section("call", "fuzzresume", f"{name} documented: {said.why}")
