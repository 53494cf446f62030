"""The in-tree engine's log, torn: a row that is half written is no record, and is told from a damaged one."""

import json
import sqlite3
from contextlib import closing

import pytest

from fuzzresume.adapters.durable.log import DATABASE, Damaged, Log, Row

FIRST, SECOND, THIRD = (Row("record", "b0", {"task": task, "mark": str(task), "note": "ok"}) for task in (1, 2, 3))


class Died(Exception):
    pass


def die():
    raise Died


def torn(folder, *rows):
    """A log with one whole row and the given ones half written."""
    log = Log(folder)
    log.read()
    log.append([FIRST])
    with pytest.raises(Died):
        log.append(rows, die)
    log.close()


def rows_of(folder, **more):
    log = Log(folder, **more)
    try:
        return [stored.row for stored in log.read()]
    finally:
        log.close()


@pytest.mark.parametrize("verify", [True, False])
def test_a_torn_tail_is_no_record(tmp_path, verify):
    torn(tmp_path, SECOND, THIRD)
    assert rows_of(tmp_path, verify=verify) == [FIRST]


@pytest.mark.parametrize("verify", [True, False])
def test_the_next_append_writes_in_its_place(tmp_path, verify):
    torn(tmp_path, SECOND, THIRD)
    log = Log(tmp_path, verify=verify)
    log.read()
    assert [stored.seq for stored in log.append([THIRD])] == [2]
    log.close()
    assert rows_of(tmp_path) == [FIRST, THIRD]


def test_a_first_append_that_is_torn_is_a_run_that_was_started(tmp_path):
    with pytest.raises(Died):
        Log(tmp_path).append([FIRST], die)
    assert rows_of(tmp_path) == []
    (tmp_path / DATABASE).write_bytes(b"")
    with pytest.raises(Damaged):
        rows_of(tmp_path)


@pytest.mark.parametrize(
    "change",
    ["INSERT INTO entry VALUES (3, 'record', 'b0', ?, 'forged')", "UPDATE entry SET body = ? WHERE seq = 2"],
    ids=["a whole row behind it", "its body changed"],
)
def test_what_is_done_to_a_torn_row_is_damage(tmp_path, change):
    torn(tmp_path, SECOND)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection, connection:
        connection.execute(change, (json.dumps(THIRD.body),))
    with pytest.raises(Damaged):
        rows_of(tmp_path)


def test_of_two_writers_in_one_place_one_wins(tmp_path):
    slow, fast = Log(tmp_path), Log(tmp_path)
    slow.read()

    def overtaken():
        fast.read()
        fast.append([SECOND])

    with pytest.raises(sqlite3.IntegrityError):
        slow.append([FIRST], overtaken)
    slow.close()
    fast.close()
    assert rows_of(tmp_path) == [SECOND]
