"""The screen: one generated function per API and version that says whether any identifier may be too long.

A request without breaches, that is nearly every request, meets nothing but this: no object is made, no path followed
by name. What the screen holds back is judged with care (`judge`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

from doorkeeper.door.judged import Keeper, body_limits, steps_of
from doorkeeper.rules.names import MAX_NAME_LENGTH

Screen: TypeAlias = Callable[[str | None, Any], bool]
"""(client id, decoded request) -> whether some string may break its limit; False is certain."""

_INDENT: Final = "    "


@cache
def screen_of(api_key: int, version: int, keeper: Keeper) -> Screen:
    """The screen of one version of one API, generated at first use as `dataclasses` generates `__init__`.

    :raises LookupError: for an API or a version that the field map does not know.
    """
    lines = ["def screen(client_id, body):", *_test("client_id", MAX_NAME_LENGTH, 1)]
    for path, limit in body_limits(api_key, version, keeper).items():
        lines += _reach(path, limit)
    lines.append(f"{_INDENT}return False")
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # noqa: S102 - the text is made of our own field map, never of input
    screen: Screen = names["screen"]
    return screen


def _reach(path: str, limit: int) -> list[str]:
    """Lines that follow the path and test what stands at its end."""
    lines: list[str] = []
    value, depth = "body", 1
    for name, array in steps_of(path):
        value = f"{value}.{name}"
        if array:
            # `or ()`: an array may be null.
            lines.append(f"{_INDENT * depth}for e{depth} in {value} or ():")
            value, depth = f"e{depth}", depth + 1
    lines.append(f"{_INDENT * depth}v = {value}")
    return lines + _test("v", limit, depth)


def _test(value: str, limit: int, depth: int) -> list[str]:
    """One code point is at most two UTF-16 code units, and in ASCII exactly one."""
    indent = _INDENT * depth
    return [
        f"{indent}if {value} and len({value}) > {limit // 2} and (len({value}) > {limit} or not {value}.isascii()):",
        f"{indent}{_INDENT}return True",
    ]
