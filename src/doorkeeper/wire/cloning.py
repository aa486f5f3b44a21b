"""Other versions of kio's message classes, made from the classes themselves.

kio's readers and writers are driven by a dataclass's annotations and metadata, so a class with the same fields is read
and written alike. Two uses: the next version of an API with the same fields (KIP-1233's bumps), and responses whose
error codes are plain numbers, because kio refuses codes that it does not know.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, field, fields, is_dataclass, make_dataclass
from types import GenericAlias, NoneType, UnionType
from typing import Any, Final, get_args, get_origin

from kio.schema.errors import ErrorCode as KioErrorCode
from kio.static.primitive import i16

from doorkeeper.wire.memory import remembered

_CLASS_FACTS: Final = ("__type__", "__version__", "__flexible__", "__api_key__", "__header_schema__")


@remembered
def at_version(entity: type[Any], version: int) -> type[Any]:
    """The same message under another version number, nested types included."""
    return _clone(entity, version)


@remembered
def with_plain_codes(entity: type[Any]) -> type[Any]:
    """The same message with `int` in place of kio's closed `ErrorCode`, nested types included."""
    return _clone(entity, None)


def _clone(entity: type[Any], version: int | None) -> type[Any]:
    """A copy at `version`; without one, a copy with plain codes."""
    facts = {name: getattr(entity, name) for name in _CLASS_FACTS}
    if version is not None:
        facts["__version__"] = i16(version)
    cloned = make_dataclass(
        entity.__name__,
        [_clone_field(one, version) for one in fields(entity)],
        frozen=True,
        slots=True,
        kw_only=True,
        namespace=facts,
    )
    cloned.__module__ = entity.__module__
    cloned.__qualname__ = entity.__qualname__
    return cloned


def _clone_field(original: Field[Any], version: int | None) -> tuple[str, Any, Field[Any]]:
    metadata = dict(original.metadata)
    kind = _clone_type(original.type, version)
    default: Any = original.default
    if version is None and metadata.get("kafka_type") == "error_code":
        metadata["kafka_type"] = "int16"
        default = default if default is MISSING else int(default)
    elif is_dataclass(default):
        default = kind(**{one.name: getattr(default, one.name) for one in fields(default)})
    return original.name, kind, field(metadata=metadata, default=default)


def _clone_type(kind: Any, version: int | None) -> Any:
    origin = get_origin(kind)
    if origin is UnionType:
        (inner,) = (part for part in get_args(kind) if part is not NoneType)
        return _clone_type(inner, version) | None
    if origin is tuple:
        return GenericAlias(tuple, (_clone_type(get_args(kind)[0], version), ...))
    if is_dataclass(kind):
        assert isinstance(kind, type)
        return with_plain_codes(kind) if version is None else at_version(kind, version)
    if version is None and kind is KioErrorCode:
        return i16
    return kind
