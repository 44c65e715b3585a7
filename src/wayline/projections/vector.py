"""A sequence that grows in O(1) and never changes for those who hold an older version."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Vector(Sequence[T], Generic[T]):
    """Immutable to its holder; versions share one list.

    Appending to the newest version adds to the shared list. Appending to an older one copies, which
    only a fold that steps back does.
    """

    __slots__ = ("_items", "_size")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._size = len(self._items)

    def append(self, item: T) -> "Vector[T]":
        """This sequence and one more item."""
        items = self._items if len(self._items) == self._size else self._items[: self._size]
        items.append(item)
        return self._version(items, self._size + 1)

    def first(self, size: int) -> "Vector[T]":
        """The first `size` items."""
        return self._version(self._items, min(size, self._size))

    def _version(self, items: list[T], size: int) -> "Vector[T]":
        version = Vector.__new__(Vector)
        version._items, version._size = items, size
        return version

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        for index in range(self._size):
            yield self._items[index]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return self._items[: self._size][index]
        return self._items[range(self._size)[index]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Vector({list(self)!r})"
