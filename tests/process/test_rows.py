"""The shared ring of rows."""

from __future__ import annotations

import multiprocessing
import os
import secrets
import threading
from pathlib import Path

import numpy as np
import pytest

from logitscope.backends.rows import RowRing, remove_block, slots_for


@pytest.fixture
def rings():
    """The writer's ring and the reader's, 4 slots of 1,000 entries."""
    name = f"lgs-{os.getpid()}-{secrets.token_hex(4)}"
    writer = RowRing.create(name, 4, 1000)
    reader = RowRing.attach(name, 4, 1000)
    yield writer, reader
    reader.unlink()
    reader.close()
    writer.close()


def row_of(value: float) -> np.ndarray:
    return np.full(1000, value, dtype=np.float32)


def test_a_reader_gets_the_row_until_its_place_is_taken(rings) -> None:
    writer, reader = rings
    refs = [writer.write(row_of(value)) for value in range(7)]
    for value, ref in enumerate(refs):
        copy = reader.copy(ref)
        if value < 3:
            assert copy is None
        else:
            np.testing.assert_array_equal(copy, row_of(value))


def test_a_copy_does_not_change_afterwards(rings) -> None:
    writer, reader = rings
    copy = reader.copy(writer.write(row_of(1)))
    for _ in range(8):
        writer.write(row_of(2))
    np.testing.assert_array_equal(copy, row_of(1))


def test_no_row_is_ever_torn(rings) -> None:
    writer, reader = rings
    newest = writer.write(row_of(0))
    done = threading.Event()

    def write() -> None:
        nonlocal newest
        for value in range(1, 5000):
            newest = writer.write(row_of(value))
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    copies = 0
    while not done.is_set():
        row = reader.copy(newest)
        if row is not None:
            copies += 1
            assert row.min() == row.max()
    thread.join()
    assert copies > 0


def test_the_name_can_go_while_both_still_use_the_memory(rings) -> None:
    writer, reader = rings
    reader.unlink()
    assert not list(Path("/dev/shm").glob(f"lgs-{os.getpid()}-*"))
    np.testing.assert_array_equal(reader.copy(writer.write(row_of(3))), row_of(3))


def test_a_closed_ring_gives_none_and_takes_nothing(rings) -> None:
    writer, reader = rings
    ref = writer.write(row_of(1))
    reader.close()
    writer.close()
    assert reader.copy(ref) is None
    with pytest.raises(ValueError, match="closed"):
        writer.write(row_of(2))


def test_removing_a_block_that_a_dead_process_left_and_one_that_is_not_there() -> None:
    name = f"lgs-{os.getpid()}-{secrets.token_hex(4)}"
    process = multiprocessing.get_context("spawn").Process(
        target=RowRing.create, args=(name, 4, 1000)
    )
    process.start()
    process.join()
    assert Path("/dev/shm", name).exists()
    remove_block(name)
    assert not Path("/dev/shm", name).exists()
    remove_block(name)


@pytest.mark.parametrize(("n_vocab", "slots"), [(300, 64), (262_144, 16), (10_000_000, 4)])
def test_the_ring_stays_small(n_vocab, slots) -> None:
    assert slots_for(n_vocab) == slots
