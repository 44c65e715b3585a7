"""A log's bytes in memory: the store of tests and of sessions that leave no trace."""


class MemoryStore:
    """`Store` over a bytearray; it cannot fail, and memory is as durable as it gets."""

    dirty = False

    def __init__(self, data: bytes = b"") -> None:
        self._data = bytearray(data)

    def read(self) -> bytes:
        return bytes(self._data)

    def append(self, line: bytes) -> None:
        self._data += line

    def sync(self) -> None:
        """Nothing to do."""

    def truncate(self, size: int) -> None:
        del self._data[size:]

    def close(self) -> None:
        """Nothing to free."""
