"""Rows of logits in shared memory: the model process writes, the window copies the newest.

The block has a name only from its creation until the window has mapped it (see
``backends.supervisor``): afterwards it lives as long as someone maps it, so that no kind of death
can leave it behind.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from multiprocessing.shared_memory import SharedMemory

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import NotEnoughMemory
from logitscope.backends.messages import RowRef

_BUDGET = 16 * 1024 * 1024
_STAMP_BYTES = 8


def slots_for(n_vocab: int) -> int:
    """Slots of a ring for this vocabulary: 16 MB of rows, at least 4 and at most 64 of them."""
    return max(4, min(64, _BUDGET // (4 * n_vocab)))


class RowRing:
    """``slots`` rows of float32, shape (V,), each with the int64 stamp of its last writing.

    A seqlock: the writer takes the stamp away, writes, and puts the new one; a reader that finds
    the same stamp before and after its copy has a whole row. One process writes.
    """

    def __init__(self, memory: SharedMemory, slots: int, n_vocab: int) -> None:
        self._memory = memory
        self._rows: NDArray[np.float32] | None = np.ndarray(
            (slots, n_vocab), dtype=np.float32, buffer=memory.buf, offset=slots * _STAMP_BYTES
        )
        self._stamps: NDArray[np.int64] | None = np.ndarray(
            (slots,), dtype=np.int64, buffer=memory.buf
        )
        self._written = 0
        self._lock = threading.Lock()

    @classmethod
    def create(cls, name: str, slots: int, n_vocab: int) -> RowRing:
        """Make the block. Raises NotEnoughMemory where the system cannot hold it."""
        size = slots * (_STAMP_BYTES + 4 * n_vocab)
        memory = SharedMemory(name=name, create=True, size=size)
        try:
            _reserve(memory, size)
        except OSError as error:
            memory.close()
            memory.unlink()
            if error.errno != errno.ENOSPC:
                raise
            raise NotEnoughMemory(
                f"The shared memory of this system has no room for {size / 1e6:.0f} MB of logits; "
                "enlarge /dev/shm (containers: --shm-size)."
            ) from error
        return cls(memory, slots, n_vocab)

    @classmethod
    def attach(cls, name: str, slots: int, n_vocab: int) -> RowRing:
        """Map the block of another process. Raises FileNotFoundError."""
        return cls(SharedMemory(name=name), slots, n_vocab)

    def write(self, row: NDArray[np.float32]) -> RowRef:
        """Copy a row, shape (V,), into the oldest slot."""
        with self._lock:
            if self._rows is None or self._stamps is None:
                raise ValueError("the ring is closed")
            self._written += 1
            slot = self._written % len(self._stamps)
            self._stamps[slot] = 0
            self._rows[slot] = row
            self._stamps[slot] = self._written
            return RowRef(slot=slot, stamp=self._written)

    def copy(self, ref: RowRef) -> NDArray[np.float32] | None:
        """The row, shape (V,), or None where a newer one has taken its place."""
        with self._lock:
            if self._rows is None or self._stamps is None or self._stamps[ref.slot] != ref.stamp:
                return None
            row = self._rows[ref.slot].copy()
            return row if self._stamps[ref.slot] == ref.stamp else None

    def unlink(self) -> None:
        """Take the name away; the memory goes with its last mapping. Twice is harmless."""
        unlink_block(self._memory)

    def close(self) -> None:
        """Unmap. Twice is harmless."""
        with self._lock:
            self._rows = self._stamps = None
            self._memory.close()


def unlink_block(memory: SharedMemory) -> None:
    """Remove the name of a block if it is still there."""
    try:
        memory.unlink()
    except FileNotFoundError:
        return


def remove_block(name: str) -> None:
    """Remove a block that a dead process may have left between creation and hand-over."""
    try:
        memory = SharedMemory(name=name)
    except FileNotFoundError:
        return
    memory.close()
    unlink_block(memory)


def _reserve(memory: SharedMemory, size: int) -> None:
    """Have the pages now: a full /dev/shm would otherwise end the writer with SIGBUS later."""
    if sys.platform != "linux":
        return
    descriptor = os.open(f"/dev/shm/{memory.name}", os.O_RDWR)
    try:
        os.posix_fallocate(descriptor, 0, size)
    finally:
        os.close(descriptor)
