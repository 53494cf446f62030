"""What pytest loads for all tests of this repository."""

import os
import shutil
import tempfile
from pathlib import Path

pytest_plugins = ["pytester"]

MEMORY = Path("/dev/shm")

ROOM = 1 << 30
"""More than all temporary files of a whole test run, environments included."""


def roomy() -> bool:
    """Whether temporary files can be in memory: tests run some of them."""
    may_run = os.access(MEMORY, os.W_OK) and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    return may_run and shutil.disk_usage(MEMORY).free >= ROOM


# Half of a test's time on a disk can be waiting for it, and nothing here is about power cuts.
if "TMPDIR" not in os.environ and roomy():
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None
