"""Caching of what is derived from message classes: few, immutable, and needed on every request."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


def remembered(function: _Function) -> _Function:
    """`functools.cache` that keeps the signature, and takes classes for hashable (mypy thinks they are not)."""
    return cast("_Function", cache(function))
