"""The corpus database as a file: its schema, and what is said of a file that cannot be used."""

from __future__ import annotations

import os
import sqlite3

import pytest
from corpus_samples import record
from report_samples import forked, raced

from fuzzresume.campaign.corpus.database import Corpus, CorpusError
from fuzzresume.campaign.corpus.schema import APPLICATION, FIRST, STEPS
from fuzzresume.contract.trace import dumps


@pytest.fixture
def path(tmp_path):
    return tmp_path / "corpus.db"


@pytest.fixture
def second(monkeypatch):
    """A later fuzzresume, whose schema has a step more."""

    return lambda step: monkeypatch.setattr("fuzzresume.campaign.corpus.schema.STEPS", (*STEPS, step))


def by_hand(path):
    """A database of schema 1, as the first release made it."""
    with sqlite3.connect(path) as connection:
        connection.executescript(f"BEGIN; {FIRST} COMMIT")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
        connection.execute("INSERT INTO targets VALUES ('t', 'example', 'example@1', '{}')")
        trace = dumps(forked().to_trace()).decode()
        connection.execute("INSERT INTO traces VALUES ('abc', NULL, 't', 3, '2026', 1, '{}', ?)", [trace])
    connection.close()


def refused(path, **how):
    with pytest.raises(CorpusError) as error:
        Corpus(path, **how).close()
    assert "\n" not in str(error.value) and str(path) in str(error.value)
    return str(error.value)


def schema(path):
    with sqlite3.connect(path) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return version


def test_a_new_one_has_the_newest_schema_and_is_one_plain_file(path):
    with Corpus(path) as corpus:
        record(corpus, forked())
        assert corpus.rows("PRAGMA foreign_keys") == [(1,)] and corpus.rows("PRAGMA synchronous") == [(2,)]
    assert schema(path) == len(STEPS) and os.listdir(path.parent) == [path.name]


def test_an_empty_file_becomes_one(path):
    path.touch()
    with Corpus(path) as corpus:
        assert corpus.findings() == []


def test_one_of_schema_1_is_brought_up_to_date_with_what_it_holds(path, second):
    by_hand(path)
    with Corpus(path) as corpus:
        assert corpus.trace("abc") == forked().to_trace()
    assert schema(path) == len(STEPS)
    second(lambda db: db.execute("ALTER TABLE campaigns ADD COLUMN remark TEXT"))
    with Corpus(path) as corpus:
        assert corpus.trace("abc") == forked().to_trace()
        assert corpus.rows("SELECT count(remark) FROM campaigns") == [(0,)]
    assert schema(path) == len(STEPS) + 1
    with Corpus(path) as corpus:
        assert len(corpus.traces()) == 1


def test_a_step_that_fails_leaves_the_schema_as_it_was(path, second):
    by_hand(path)

    def step(db):
        db.execute("ALTER TABLE campaigns ADD COLUMN remark TEXT")
        db.execute("INSERT INTO nowhere VALUES (1)")

    second(step)
    assert "no such table: nowhere" in refused(path)
    assert schema(path) == 1
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.OperationalError, match="remark"):
        connection.execute("SELECT remark FROM campaigns")
    connection.close()


def test_a_newer_schema(path, second, monkeypatch):
    second(lambda db: None)
    Corpus(path).close()
    monkeypatch.undo()
    assert "update fuzzresume" in refused(path)
    assert schema(path) == len(STEPS) + 1


def test_no_database(path):
    path.write_text("what a person wrote by hand, and more than a page of it\n" * 200)
    before = path.read_bytes()
    assert "no SQLite database" in refused(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("made", ["CREATE TABLE theirs (a)", "PRAGMA user_version = 1", "PRAGMA application_id = 5"])
def test_a_database_of_another_program(path, made):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE more (a)")
        connection.execute(made)
    connection.close()
    before = path.read_bytes()
    assert "another program's" in refused(path)
    assert path.read_bytes() == before


def test_a_folder_in_its_place(path):
    path.mkdir()
    assert "cannot be opened" in refused(path)


def test_a_folder_that_cannot_be_used(path):
    path.touch()
    assert "its folder cannot be used" in refused(path / "corpus.db")


def test_none_where_one_is_asked_for(path):
    assert "there is no corpus" in refused(path, create=False)
    assert not path.exists()


def test_another_program_that_does_not_let_go(path):
    with Corpus(path) as corpus, Corpus(path, patience=0.01) as other:
        with corpus.writing() as db:
            assert other.findings() == []
            with pytest.raises(CorpusError, match="kept it locked"):
                record(other, raced())
            db.execute("INSERT INTO targets VALUES ('t', 'example', 'example@1', '{}')")
        record(other, raced())
        assert len(corpus.findings()) == 1


def test_a_disk_that_is_full(path):
    with Corpus(path) as corpus:
        record(corpus, forked())
        recorder = corpus.recorder()
        (pages,) = corpus.rows("PRAGMA page_count")[0]
        corpus.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(CorpusError, match="no room left"):
            corpus.add_traces([raced().to_trace(), forked().to_trace()])
        assert [row.id for row in corpus.findings()] == [forked().id]
        corpus.connection.execute(f"PRAGMA max_page_count = {pages + 100}")
        assert corpus.add_trace(raced().to_trace()) and recorder.campaign == ""


def test_a_file_that_cannot_be_written_to(path):
    with Corpus(path) as corpus:
        record(corpus, forked())
        corpus.connection.execute("PRAGMA query_only = ON")
        with pytest.raises(CorpusError, match="cannot be written to"):
            record(corpus, raced())
        assert [row.id for row in corpus.findings()] == [forked().id]


def test_a_folder_that_cannot_be_written_to_can_still_be_read(path, monkeypatch):
    with Corpus(path) as corpus:
        record(corpus, forked())
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with Corpus(path, create=False) as corpus:
        assert corpus.trace_of(forked().id) == forked().to_trace()
        with pytest.raises(CorpusError, match="cannot be written to"):
            record(corpus, raced())
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_was_damaged(path):
    with Corpus(path) as corpus:
        record(corpus, forked())
    data = bytearray(path.read_bytes())
    data[4096 * 2 :] = b"\xff" * (len(data) - 4096 * 2)
    path.write_bytes(data)
    assert "the database is damaged" in refused(path)


def test_a_ctrl_c_in_the_middle_takes_back_what_was_half_written(path):
    with Corpus(path) as corpus:
        with pytest.raises(KeyboardInterrupt), corpus.writing() as db:
            db.execute("INSERT INTO targets VALUES ('t', 'example', 'example@1', '{}')")
            raise KeyboardInterrupt
        assert corpus.rows("SELECT * FROM targets") == []
        record(corpus, forked())
