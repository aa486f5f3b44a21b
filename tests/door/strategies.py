"""Random valid requests whose strings crowd around the limits."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import strategies as st
from tests.wire.strategies import PRIMITIVES

from doorkeeper.wire.schema import Shape, shape_of

_LENGTHS = st.sampled_from([0, 1, 17, 18, 19, 35, 36, 37, 124, 125, 248, 249, 250, 300])
_PIECES = st.sampled_from(["a", "é", "名", "😀", ":", "g:"])


@st.composite
def names(draw: st.DrawFn) -> str:
    """Names of one to four bytes and one or two UTF-16 code units a character, often of a limit's length."""
    size = draw(_LENGTHS)
    name = (draw(_PIECES) * size)[:size]
    return draw(st.sampled_from([name, name + "😀", f"{name}:topic:0", "é" + name[1:]]))


_DRAWN = PRIMITIVES | {
    "string": names(),
    "int8": st.integers(0, 4),
    "bytes": st.binary(max_size=3),
    "records": st.binary(max_size=3),
}


def requests(entity: type[Any]) -> st.SearchStrategy[Any]:
    """Instances of a message class."""
    return st.builds(entity, **{one.name: _values(shape_of(one)) for one in fields(entity)})


def _values(shape: Shape) -> st.SearchStrategy[Any]:
    item = requests(shape.entity) if shape.entity is not None else _DRAWN[str(shape.kafka_type)]
    if shape.array:
        item = st.lists(item, max_size=2).map(tuple)
    return st.none() | item if shape.nullable else item
