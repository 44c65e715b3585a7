"""Any event of the vocabulary, made from the types of its payload."""

import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from wayline.log.events import PAYLOADS, SURFACE, Event, Header, Sources, SurfaceOp, Unknown

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)
JSON_OBJECTS = st.dictionaries(st.text(), JSON, max_size=3)
COUNTS = st.integers(0, 2**62)


def of_type(kind: Any) -> st.SearchStrategy[Any]:
    """Values of an annotation, as far as the vocabulary uses them."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(of_type, arguments))
    if origin is tuple:
        return st.lists(of_type(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return JSON_OBJECTS if arguments[1] is Any else st.dictionaries(st.text(), of_type(arguments[1]))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return st.builds(kind, **{name: of_type(hint) for name, hint in get_type_hints(kind).items()})
    return {str: st.text(), int: COUNTS, bool: st.booleans(), types.NoneType: st.none()}[kind]


@st.composite
def events(draw: st.DrawFn, name: str | None = None) -> Event:
    """One event, on its own: its place in a log is not thought of."""
    name = name or draw(st.sampled_from(sorted(PAYLOADS)))
    kind = PAYLOADS[name]
    return Event(
        name,
        draw(COUNTS),
        draw(COUNTS),
        draw(of_type(kind)),
        draw(of_type(SurfaceOp)) if kind in SURFACE else None,
        draw(of_type(Sources | None)),
        draw(st.booleans()),
    )


UNKNOWN_EVENTS = st.builds(
    Event,
    st.text(min_size=1).map(lambda name: f"plugin/{name}"),
    COUNTS,
    COUNTS,
    st.builds(Unknown, JSON_OBJECTS),
    ignorable=st.booleans(),
)
HEADERS = of_type(Header).map(lambda header: msgspec.structs.replace(header, version=0))
