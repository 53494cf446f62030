"""`fuzzresume bisect` on real replays: of langgraph as it is prepared before the tests, and of engines in the place of
versions; and the releases that uv finds in a folder of wheels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from click.testing import Result
from packaging.specifiers import SpecifierSet
from test_environments import wheel
from typer.testing import CliRunner

from fuzzresume import cli_bisect
from fuzzresume.contract.trace import Trace
from fuzzresume.harness.attendant import WorkerError
from fuzzresume.harness.releases import NoReleases, releases
from fuzzresume.harness.target import Target, parse_target
from fuzzresume.report.exit_codes import Exit

FORK = Path(__file__).parents[2] / "shrinks" / "langgraph-1.2.9" / "FD-2dc830" / "trace.json"


def bisect(*words: object, code: Exit) -> Result:
    app = typer.Typer()
    app.command()(cli_bisect.bisect)
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == code, (done.output, done.exception)
    return done


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes versions 1, 2, … of engines: the right one, one with a fault, or one that cannot be had."""

    def make(history: str) -> None:
        def target_at(trace: Trace, package: str, version: str) -> Target:
            match history[int(version) - 1]:
                case "g":
                    return parse_target("reference")
                case "s":
                    raise WorkerError("Traceback (most recent call last):\n  …\nImportError: it does not start")
                case _:
                    return parse_target("mutant", {"fault": "ForkIgnore"})

        monkeypatch.setattr(cli_bisect, "target_at", target_at)

    return make


def test_a_finding_in_every_version_of_langgraph() -> None:
    done = bisect(FORK, "--package", "langgraph", "--versions", "1.2.9,1.1.4", code=Exit.VIOLATED)
    heading, old, new, verdict = done.stdout.splitlines()
    assert heading.startswith("FD-2dc830 RR-FD a fork was not served its own answer")
    assert old.startswith("langgraph 1.1.4    bad   RR-FD completed; ") and " · with langgraph-checkpoint " in old
    assert new.startswith("langgraph 1.2.9    bad   ")
    assert verdict == "it shows in each of the 2 versions tried, from 1.1.4 to 1.2.9"


def test_the_release_that_changed_it_is_named(engines: Callable[[str], None]) -> None:
    engines("gsbbs")
    done = bisect(FORK, "--versions", "1,2,3,4,5", code=Exit.VIOLATED)
    assert "langgraph 2        skip  ImportError: it does not start\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "first bad 3, or one of those skipped: 2; last good 1"
    narrowed = bisect(FORK, "--versions", "1,2,3,4,5", "--good", "1", "--bad", "3", code=Exit.VIOLATED)
    assert len(narrowed.stdout.splitlines()) == 5
    assert "--good 3: it is bad: RR-FD" in bisect(FORK, "--versions", "1,3", "--good", "3", code=Exit.USAGE).stderr


@pytest.mark.parametrize(
    "further, row, code",
    [
        ([], "good  something else shows instead: RR-FD", Exit.OK),
        ([{"op": "inspect"}], "skip  command 3 shows something else first: RR-FD", Exit.UNDETERMINED),
    ],
)
def test_another_violation_is_another_finding_and_ends_the_run(
    engines: Callable[[str], None], tmp_path: Path, further: list[dict[str, str]], row: str, code: Exit
) -> None:
    trace = json.loads(FORK.read_text())
    trace["commands"] = [*({key: row[key] for key in row if key != "seen"} for row in trace["commands"]), *further]
    trace["found"] |= {"property": "EO", "explained_by": [["Replay"]]}
    (tmp_path / "other.json").write_text(json.dumps(trace))
    engines("b")
    assert f"langgraph 1        {row}" in bisect(tmp_path / "other.json", "--versions", "1", code=code).stdout


def test_in_no_version_and_in_none_that_can_be_tried(engines: Callable[[str], None]) -> None:
    engines("ggss")
    assert "it shows in none of the 2 versions tried, from 1 to 2" in bisect(FORK, "--versions", "1,2", code=Exit.OK).stdout
    done = bisect(FORK, "--versions", "3,4", code=Exit.UNDETERMINED)
    assert done.stdout.splitlines()[-1] == "undetermined: no version could be tried"


@pytest.mark.parametrize(
    "words, says",
    [
        (("--package", "six"), "langgraph uses no package 'six'; it uses langgraph, "),
        (("--versions", "1.1.4,newest"), "'newest' is no version"),
        (("--good", "1.1.4\nsix"), "is no version"),
        (("--good", "1.2", "--bad", "1.2.0"), "1.2 cannot be both good and bad"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], says: str) -> None:
    done = bisect(FORK, *words, code=Exit.USAGE)
    assert says in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_target_without_a_framework_has_no_history(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(FORK.read_text().replace('"target": "langgraph"', '"target": "reference"'))
    assert "reference has no framework" in bisect(tmp_path / "own.json", code=Exit.USAGE).stderr


def test_releases_are_what_uv_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "UV_FIND_LINKS": tmp_path,
        "UV_NO_INDEX": 1,
        "UV_OFFLINE": 1,
        "UV_CACHE_DIR": tmp_path / "uv",
    }.items():
        monkeypatch.setenv(name, str(value))
    for version in ("1.9", "1.10", "2.0rc1", "2.0", "2.0.post1", "3.0"):
        wheel(tmp_path, version)

    def found(within: str, **more: bool) -> list[str]:
        return [str(version) for version in releases("toyframe", SpecifierSet(within), **more)]

    assert found(">=1.10,<3") == ["1.10", "2.0", "2.0.post1"]
    assert found("", pre=True) == ["1.9", "1.10", "2.0rc1", "2.0", "2.0.post1", "3.0"]
    with pytest.raises(NoReleases, match="no releases of toyframe are known: ") as none:
        found(">=4")
    assert "\n" not in str(none.value)
    done = bisect(FORK, code=Exit.UNDETERMINED)
    assert done.stderr.startswith("fuzzresume: no releases of langgraph are known: ") and not done.stdout


@pytest.mark.parametrize(
    "said, since, within",
    [
        ([], None, "<2,>=1.107"),
        (["1.107.1"], None, "<2,>=1.107"),
        (["1.100"], None, "<2,>=1.100"),
        (["1.100", "2.1"], None, "<=2.1,>=1.100"),
        ([], "1.108", "<2,>=1.107,>=1.108"),
        ([], "1.90", "<2,>=1.90"),
    ],
)
def test_the_range_is_what_the_target_is_made_for_and_reaches_what_is_named(
    said: list[str], since: str | None, within: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(cli_bisect, "releases", lambda package, spec, pre: asked.append((package, str(spec))) or [])
    trace = cli_bisect.trace_of(next((FORK.parents[2] / "pydantic-graph-1.107.1").glob("*/trace.json")))
    versions = [cli_bisect.version_of(text) for text in said]
    cli_bisect.history_of(
        trace, "pydantic-graph", versions, None if since is None else cli_bisect.version_of(since), pre=False
    )
    assert asked == [("pydantic-graph", within)]
