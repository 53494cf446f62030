"""Environments of their own for targets: built by uv when first asked for, kept, never touched again.

What is asked for (`crewai@1.15.2`, `langgraph@latest`) is first resolved to exact versions of everything, and those name
the environment's folder. So a resolution that changed is another environment, and one that did not costs nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import uv

from fuzzresume.harness.target import NoEnvironment
from fuzzresume.harness.worker import die_with_parent

CACHE_VARIABLE = "FUZZRESUME_CACHE"
"""The environment variable that says where environments are kept, instead of the user's cache folder."""
READY = "ready"
"""The file in an environment that is written last; it holds the exact versions."""

COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "langgraph==1.2.9": ("langgraph-checkpoint==4.1.1", "langgraph-checkpoint-sqlite==3.1.0"),
}
"""What belongs to a version of a framework although its requirements admit more: verdicts depend on it."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment and its interpreter."""

    folder: Path
    python: Path


def say_aloud(words: str) -> None:
    """To standard error: building takes a while, and reports go to standard output."""
    print(words, file=sys.stderr, flush=True)


def environment(name: str, requirements: Sequence[str], *, fresh: bool = False, say: Say = say_aloud) -> Environment:
    """The environment for `name` that holds what `requirements` resolve to; built if it is not there yet.

    `fresh`: ask the index what is newest, instead of taking what an earlier question was answered. Raises NoEnvironment.
    """
    try:
        return _environment(name, requirements, fresh, say)
    except OSError as error:
        raise NoEnvironment(f"no environment for {name}: {error.filename or ''}: {error.strerror or error}") from error


def _environment(name: str, requirements: Sequence[str], fresh: bool, say: Say) -> Environment:
    lock = _resolved(name, requirements, fresh)
    folder = _cache() / f"{name.partition('@')[0]}-{_digest(lock, sysconfig.get_platform(), sys.version)}"
    found = Environment(folder, folder / "bin" / "python")
    if not _whole(found):
        with _alone(folder):
            if not _whole(found):
                say(f"building an environment for {name} in {folder}, once")
                _build(name, folder, lock)
    return found


def _whole(found: Environment) -> bool:
    return (found.folder / READY).exists() and found.python.exists()


def _resolved(name: str, requirements: Sequence[str], fresh: bool) -> str:
    """The exact versions of everything, one a line, as resolved now or, for the same question, before."""
    question = "\n".join(requirements)
    path = _cache() / "resolved" / f"{name}-{_digest(question, sys.version)}.txt"
    if not fresh and path.exists() and (before := path.read_text()).strip():
        return before
    quietly = ("--quiet", "--no-header", "--no-annotate", "--python", sys.executable)
    said = run_uv("pip", "compile", *quietly, "-", text=question)
    if said.returncode:
        # Whatever is not pinned was answered before or cannot be answered now.
        raise NoEnvironment(f"no environment for {name}: {reason(said.stderr)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(said.stdout)
    os.replace(temporary, path)
    return said.stdout


def _build(name: str, folder: Path, lock: str) -> None:
    # What an interrupted build left is no environment.
    shutil.rmtree(folder, ignore_errors=True)
    made = run_uv("venv", "--quiet", "--python", sys.executable, str(folder))
    if not made.returncode:
        made = run_uv(
            "pip", "install", "--quiet", "--no-deps", "--python", str(folder / "bin" / "python"), "-r", "-", text=lock
        )
    if made.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise NoEnvironment(f"no environment for {name}: {reason(made.stderr)}")
    (folder / READY).write_text(lock)


def run_uv(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run uv with the user's own configuration; `text` is its input. It ends with this process."""
    outside = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    parent = os.getpid()
    return subprocess.run(
        [uv.find_uv_bin(), *arguments],
        input=text,
        capture_output=True,
        text=True,
        env=outside,
        # Whoever gets the lock after this process was killed must not meet it at work.
        preexec_fn=lambda: die_with_parent(parent),
    )


def reason(words: str) -> str:
    """What uv said, as one line."""
    return " ".join(words.split())[:400] or "uv failed without a word"


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While nobody else builds in the folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _cache() -> Path:
    given = os.environ.get(CACHE_VARIABLE)
    return (Path(given) if given else platformdirs.user_cache_path("fuzzresume")) / "environments"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
