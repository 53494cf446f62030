"""Running a script where nothing is installed but what it asks for: does it say what it should?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fuzzresume.harness.environments import Environment, environment
from fuzzresume.harness.target import NoEnvironment, package_of
from fuzzresume.repro import leash

LIMIT = 600
"""Seconds a whole script may take."""

Word = Literal["reproduces", "no longer reproduces", "cannot tell", "unverified"]
_WORDS: dict[int, Word] = {0: "no longer reproduces", 1: "reproduces", 3: "cannot tell"}


@dataclass(frozen=True, slots=True)
class Verified:
    """What came of a script, and the last line that it printed, or why it was not run."""

    word: Word
    why: str = ""

    @property
    def words(self) -> str:
        """`unverified: no environment for …`."""
        return f"{self.word}: {self.why}" if self.why else self.word


def requirements_in(source: str) -> tuple[str, ...]:
    """What a script's header asks for (PEP 723). Raises ValueError where it has none."""
    found = re.search(r"^# /// script\n((?:#.*\n)+?)# ///$", source, re.MULTILINE)
    if found is None:
        raise ValueError("the script has no header that says what it needs")
    header = tomllib.loads("".join(line[1:].removeprefix(" ") for line in found[1].splitlines(keepends=True)))
    needed = header.get("dependencies", ())
    if not needed or not all(isinstance(one, str) for one in needed):
        raise ValueError("the script's header does not say what it needs")
    return tuple(needed)


def environment_of(script: Path) -> Environment:
    """The environment that has only what a script's header asks for, named after the first of it; built on first use.

    Raises NoEnvironment, OSError where the script cannot be read, ValueError where it has no header.
    """
    needed = requirements_in(script.read_text())
    return environment(package_of(needed[0]), needed)


def verify(script: Path) -> Verified:
    """Run a script in an environment that has only what its header asks for. Raises OSError and ValueError, as
    `environment_of` does."""
    try:
        found = environment_of(script)
    except NoEnvironment as error:
        return Verified("unverified", str(error))
    with tempfile.TemporaryDirectory() as folder:
        outside = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        outside["TMPDIR"] = folder  # goes with the folder: CrewAI leaves its lock files there
        command = [str(found.python), "-I", str(script.absolute())]
        return judged(*_run(command, folder, outside))


def _run(command: list[str], folder: str, outside: dict[str, str]) -> tuple[int | None, str, str]:
    """Exit code (None: it did not end in time), output and errors. Nothing that the script started outlives this, nor this
    process, however it ends."""
    held, ours = os.pipe()
    try:
        running = subprocess.Popen(
            [sys.executable, "-I", leash.__file__, *command],
            stdin=held, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", cwd=folder, env=outside,
            start_new_session=True,
        )  # fmt: skip
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(held)
    try:
        said, complained = running.communicate(timeout=LIMIT)
        return running.returncode, said, complained
    except subprocess.TimeoutExpired:
        return None, "", ""
    finally:
        os.close(ours)
        running.wait()


def judged(code: int | None, said: str, complained: str) -> Verified:
    """An exit code counts only together with the line that says the same."""
    if code is None:
        return Verified("unverified", f"it did not end within {LIMIT} seconds")
    last, error = ((text.strip().splitlines() or [""])[-1] for text in (said, complained))
    word = _WORDS.get(code)
    if word is None or not last.startswith(f"{word}: "):
        return Verified("unverified", f"exit code {code}: {error or last}")
    return Verified(word, last.removeprefix(f"{word}: "))
