"""How the user's words for a target are resolved, and what each mistake is told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from fuzzresume.harness import target as module
from fuzzresume.harness.target import (
    BadOption,
    MissingExtra,
    Target,
    TargetError,
    UnknownTarget,
    available,
    load_adapter,
    parse_target,
    recorded_target,
    resolve,
    spec_of,
)

sys.path.insert(0, str(Path(__file__).parent))
import harness_fake


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two adapters that are here, and three that are not usable in three ways."""
    versioned = type("Versioned", (harness_fake.FileEngine,), {"name": "versioned", "packages": ("pytest",)})()
    bare = type("Bare", (harness_fake.FileEngine,), {"name": "bare", "packages": ("no-such-distribution",)})()
    monkeypatch.setattr(harness_fake, "VERSIONED", versioned, raising=False)
    monkeypatch.setattr(harness_fake, "BARE", bare, raising=False)
    entries = {
        "fake": "harness_fake:ADAPTER",
        "versioned": "harness_fake:VERSIONED",
        "bare": "harness_fake:BARE",
        "absent": "no_such_framework.adapter:ADAPTER",
    }
    monkeypatch.setattr(module, "BUILT_IN", entries)


def test_options_are_completed_with_the_defaults() -> None:
    assert parse_target("fake", {"store": "memory"}).options == {"store": "memory", "trouble": "none"}
    assert not parse_target("fake", {"store": "memory"}).capabilities.durable


def test_the_label_says_the_installed_version() -> None:
    version = metadata.version("pytest")
    assert parse_target("versioned").label == f"versioned@{version}"
    assert parse_target("versioned").packages == {"pytest": version}
    assert parse_target("fake").label == "fake"


@pytest.mark.parametrize(
    ("text", "options", "error", "says"),
    [
        ("fakee", {}, UnknownTarget, "did you mean fake?"),
        ("qqq", {}, UnknownTarget, "known are absent, bare, fake, versioned"),
        ("absent", {}, MissingExtra, r"needs no_such_framework: pip install 'fuzzresume\[absent\]'"),
        ("bare", {}, MissingExtra, r"needs no-such-distribution: pip install 'fuzzresume\[bare\]'"),
        ("versioned@", {}, UnknownTarget, "'versioned@' names no version; write versioned or versioned@1.2.3"),
        ("fake@1", {}, UnknownTarget, "fake@1: fake has no framework that could have another version"),
        ("fake", {"stor": "file"}, BadOption, "no option 'stor'; its options are store, trouble"),
        ("fake", {"store": "tape"}, BadOption, "store cannot be 'tape'; it is one of file, memory"),
        ("fake", {"store": "memory", "trouble": "exit"}, BadOption, "cannot combine store=memory, trouble=exit"),
    ],
)
def test_mistakes(text: str, options: dict[str, str], error: type[TargetError], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        parse_target(text, options)
    assert "\n" not in str(caught.value)


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module in the working directory with an adapter that nothing has registered."""
    name = f"newcomer_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(
        "import harness_fake\nclass New(harness_fake.FileEngine):\n    name = 'new'\nADAPTER = New()\nNEW = New\nTHREE = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(tmp_path)])
    yield name
    sys.modules.pop(name, None)


def test_an_adapter_is_named_by_where_it_is(newcomer: str) -> None:
    target = parse_target(f"{newcomer}:ADAPTER", {"store": "memory"})
    assert (target.label, target.options["store"]) == ("new", "memory")
    assert recorded_target(f"{newcomer}:ADAPTER", {}, {}, exact=True).adapter is target.adapter
    with pytest.raises(UnknownTarget, match=r"no target is called 'new'; .* write module:ATTRIBUTE as"):
        recorded_target("new", {}, {})


@pytest.mark.parametrize(
    ("attribute", "says"),
    [
        ("NOTHING", "AttributeError: module 'newcomer_.*' has no attribute 'NOTHING'"),
        ("THREE", "is no adapter: it has no name"),
        ("NEW", "is a class; name an instance of it"),
        ("ADAPTER@1.0", "has no attribute 'ADAPTER@1.0'"),
    ],
)
def test_what_is_no_adapter(newcomer: str, attribute: str, says: str) -> None:
    with pytest.raises(UnknownTarget, match=says) as caught:
        parse_target(f"{newcomer}:{attribute}")
    assert "\n" not in str(caught.value)


def test_a_broken_adapter_is_not_called_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUILT_IN", {"broken": "fuzzresume.harness.no_such_module:ADAPTER"})
    with pytest.raises(ModuleNotFoundError):
        load_adapter("broken")


def test_third_parties_register_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = metadata.EntryPoint("theirs", "harness_fake:ADAPTER", module.GROUP)

    def entry_points(group: str, name: str = "theirs") -> tuple[metadata.EntryPoint, ...]:
        return (point,) if (group, name) == (module.GROUP, "theirs") else ()

    monkeypatch.setattr(module.metadata, "entry_points", entry_points)
    assert load_adapter("theirs") is harness_fake.ADAPTER


def test_available_lists_what_is_here_and_what_is_missing() -> None:
    rows = {row.name: row for row in available()}
    assert list(rows) == ["absent", "bare", "fake", "versioned"]
    assert rows["fake"].version == "built in" and rows["fake"].options == harness_fake.ADAPTER.options
    assert rows["versioned"].version == metadata.version("pytest") and not rows["versioned"].error
    assert rows["absent"].version is None and rows["absent"].error.startswith("MissingExtra: ")
    assert rows["absent"].install == "pip install 'fuzzresume[absent]'"


def test_a_worker_finds_the_same_adapter() -> None:
    assert spec_of(harness_fake.ADAPTER) == "harness_fake:ADAPTER"
    assert resolve(spec_of(load_adapter("versioned"))) is load_adapter("versioned")
    with pytest.raises(TargetError, match="no module-level object"):
        spec_of(harness_fake.FileEngine())


def test_a_target_is_the_adapter_itself() -> None:
    assert Target(harness_fake.ADAPTER).label == "fake"


def test_the_installed_version_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    version = metadata.version("pytest")
    monkeypatch.setattr(module.metadata, "requires", lambda _: ["pytest>=8; extra == 'versioned'", "ruff; extra == 'bare'"])
    assert module.requirements_of("versioned") == ["pytest>=8"]
    assert parse_target(f"versioned@{version}").label == f"versioned@{version}"


def test_what_a_third_party_needs_is_what_its_distribution_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = ["fuzzresume>=0.1", "toyframe<3", "fuzzresume-extras", "pytest; extra == 'test'"]
    point = SimpleNamespace(dist=SimpleNamespace(requires=declared))
    monkeypatch.setattr(module.metadata, "entry_points", lambda **_: (point,))
    assert module.requirements_of("theirs") == ["toyframe<3", "fuzzresume-extras"]
