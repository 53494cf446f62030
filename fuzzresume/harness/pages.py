"""Huge pages for a process that forks often: a fork, and a child's end, go through the pages that it has one by one.

It is a request, which changes nothing but the time they take. Standard library only.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

HUGE = 2 << 20
"""The size of a huge page on all but a few machines; elsewhere the request is refused."""

MAPS = Path("/proc/self/maps")

_MADV_COLLAPSE = 25


def enlarge() -> None:
    """Ask for this process's own memory to be put into huge pages (Linux from 6.1 with /proc; elsewhere nothing happens)."""
    if sys.platform != "linux" or not MAPS.exists():
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    for start, end in _anonymous():
        if start < end:
            madvise(start, end - start, _MADV_COLLAPSE)


def _anonymous() -> Iterator[tuple[int, int]]:
    """The private, writable memory behind no file, from the first whole huge page to the last."""
    for line in MAPS.read_text().splitlines():
        addresses, rights, _, _, inode, *name = line.split()
        if rights == "rw-p" and inode == "0" and name in ([], ["[heap]"]):
            start, end = (int(address, 16) for address in addresses.split("-"))
            yield -(-start // HUGE) * HUGE, end // HUGE * HUGE
