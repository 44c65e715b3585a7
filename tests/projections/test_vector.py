"""A sequence that grows at its end and never changes for who holds it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from wayline.projections.vector import Vector


class Versions(RuleBasedStateMachine):
    """Any tree of versions, each compared with the list it should be."""

    @initialize(items=st.lists(st.integers(), max_size=3))
    def begin(self, items: list[int]) -> None:
        self.versions = [(Vector(items), list(items))]

    @rule(data=st.data(), item=st.integers())
    def append(self, data: st.DataObject, item: int) -> None:
        vector, model = data.draw(st.sampled_from(self.versions))
        self.versions.append((vector.append(item), [*model, item]))

    @rule(data=st.data(), size=st.integers(0, 6))
    def first(self, data: st.DataObject, size: int) -> None:
        vector, model = data.draw(st.sampled_from(self.versions))
        self.versions.append((vector.first(size), model[:size]))

    @invariant()
    def no_version_ever_changes(self) -> None:
        for vector, model in self.versions:
            assert list(vector) == model
            assert len(vector) == len(model)


TestVersions = Versions.TestCase


@given(st.lists(st.integers(), max_size=6), st.integers(0, 6), st.slices(6))
def test_it_is_read_like_a_list(items: list[int], size: int, part: slice):
    vector, model = Vector([*items, 7, 8]).first(size), [*items, 7, 8][:size]
    assert vector[part] == model[part]
    assert [vector[index] for index in range(-len(model), len(model))] == model + model
    for index in (len(model), -len(model) - 1):
        with pytest.raises(IndexError):
            vector[index]
    assert list(reversed(vector)) == model[::-1]
    assert (7 in vector) == (7 in model)


@given(st.lists(st.integers(), max_size=3), st.lists(st.integers(), max_size=3))
def test_it_equals_what_holds_the_same(left: list[int], right: list[int]):
    assert (Vector(left) == Vector(right)) == (left == right)
    assert Vector([*left, 9]).first(len(left)) == Vector(left)
    assert hash(Vector([*left, 9]).first(len(left))) == hash(Vector(left))
    assert Vector(left) != left


def test_it_does_not_share_the_list_it_was_made_of():
    items = [1]
    vector = Vector(items)
    items.append(2)
    assert list(vector) == [1]


def test_it_says_what_it_holds():
    assert repr(Vector([1, 2, 3]).first(2)) == "Vector([1, 2])"


def test_appending_does_not_get_slower_as_it_grows():
    def seconds(size: int) -> float:
        vector: Vector[int] = Vector()
        start = time.process_time()
        for number in range(size):
            vector = vector.append(number)
        return time.process_time() - start

    small = min(seconds(10_000) for _ in range(3))
    assert seconds(100_000) < 40 * small
