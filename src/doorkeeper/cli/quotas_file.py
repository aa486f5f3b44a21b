"""The file of quotas that `doorkeeper quotas` reads and writes: a list, in YAML or JSON.

- entity: {user: alice, client-id: null}     # null is the default entity; user, client-id, both, or ip
  quotas: {producer_byte_rate: 1048576}      # null removes the quota
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import yaml

from doorkeeper.cli.changes_file import read_document
from doorkeeper.errors import InputError
from doorkeeper.rules.client_id import DEFAULT, QuotaEntity
from doorkeeper.rules.javatext import escape_for_display

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_ATTRIBUTES: Final = {"user": "user", "client-id": "client_id", "ip": "ip"}

_NEVER_FOLD: Final = 10**9

Quotas = dict[QuotaEntity, dict[str, float | None]]


def load_quotas(path: Path) -> Quotas:
    """The entities of a file with their quotas, in order.

    :raises InputError: naming the file and the place in it.
    """
    document = read_document(path)
    if document is None:
        return {}
    if not isinstance(document, list):
        raise InputError(f"{path}: expected a list of entities with quotas")
    quotas: Quotas = {}
    for index, item in enumerate(document):
        place = f"{path}: [{index}]"
        if not isinstance(item, dict) or set(item) != {"entity", "quotas"}:
            raise InputError(f"{place}: expected the keys 'entity' and 'quotas', and no others")
        entity = _to_entity(item["entity"], f"{place}.entity")
        if entity in quotas:
            raise InputError(f"{place}.entity: stands in the file before")
        quotas[entity] = _to_values(item["quotas"], f"{place}.quotas")
    return quotas


def _to_entity(item: object, place: str) -> QuotaEntity:
    if not isinstance(item, dict) or not item:
        raise InputError(f"{place}: expected a mapping with user, client-id or ip")
    unknown = [str(name) for name in item if name not in _ATTRIBUTES]
    if unknown:
        raise InputError(f"{place}: '{escape_for_display(unknown[0])}' is none of user, client-id, ip")
    if "ip" in item and len(item) > 1:
        raise InputError(f"{place}: an ip goes with no user and no client-id")
    for name, value in item.items():
        if value is not None and (not isinstance(value, str) or not value):
            raise InputError(f"{place}.{name}: expected a name, or null for the default entity")
    return QuotaEntity(**{_ATTRIBUTES[name]: DEFAULT if value is None else value for name, value in item.items()})


def _to_values(item: object, place: str) -> dict[str, float | None]:
    if not isinstance(item, dict):
        raise InputError(f"{place}: expected a mapping of quota names to numbers")
    return {str(key): None if value is None else _to_number(value, f"{place}.{key}") for key, value in item.items()}


def _to_number(value: object, place: str) -> float:
    try:
        number = float(str(value)) if isinstance(value, str) and "_" not in value else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{place}: '{escape_for_display(str(value))}' is no number")
    return number


class _OneLineDumper(yaml.SafeDumper):
    """Every name on one line, its line feeds as escapes."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_OneLineDumper.add_representer(str, _represent_text)


def dump_quotas(quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> str:
    """The text of a file that `load_quotas` reads back, sorted by entity."""
    document = [
        {"entity": to_names(entity), "quotas": {key: _plain(value) for key, value in sorted(quotas[entity].items())}}
        for entity in sorted(quotas, key=sort_key)
    ]
    return yaml.dump(document, Dumper=_OneLineDumper, allow_unicode=True, sort_keys=False, width=_NEVER_FOLD)


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def to_names(entity: QuotaEntity) -> dict[str, str | None]:
    """An entity as the file has it."""
    named = {label: getattr(entity, attribute) for label, attribute in _ATTRIBUTES.items()}
    return {label: None if name is DEFAULT else str(name) for label, name in named.items() if name is not None}


def sort_key(entity: QuotaEntity) -> list[tuple[str, bool, str]]:
    """Users, clients and addresses by name, the default ones first."""
    return [(label, name is not None, name or "") for label, name in to_names(entity).items()]


def show_entity(entity: QuotaEntity) -> str:
    """An entity on one line of a terminal, whatever its names are."""
    return ", ".join(
        f"{label} (default)" if name is None else f"{label} '{escape_for_display(name)}'"
        for label, name in to_names(entity).items()
    )


def to_record(entity: QuotaEntity, **facts: Any) -> dict[str, Any]:
    """An entity with what is said of it, for JSON."""
    return {"entity": to_names(entity), **facts}
