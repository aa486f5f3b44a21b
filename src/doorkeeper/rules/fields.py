"""The field map: which string field of which Kafka request is which kind of identifier, or why it is none.

The facts stand in `facts/apis.csv`, `facts/fields.csv` and `facts/opaque_fields.csv`, for the request schemas of
Apache Kafka 4.3.1. From them follows which RPCs KIP-1233 gives a new version ("any whose request schema includes a
string-based identifier from the table"), so that nothing needs the schemas themselves at run time.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.packaged import read_facts
from doorkeeper.rules.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CSV_HEADER: Final = ("api_key", "api_name", "field_path", "kind", "first_version", "last_version")

_HEADER_PREFIX: Final = "header."
_IDENTIFIER_KINDS: Final = tuple(kind for kind in Kind if kind is not Kind.CONFIG_CHANGE)
_IDENTIFIER_VERSIONS_OF_OTHER_PROPOSALS: Final = {62: 6}
"""BrokerRegistration: v5 is taken on Kafka's development branch, and v6 (static configs) serves both proposals."""


class Doors(StrEnum):
    """Who judges a field."""

    ALL = "all"
    EMBEDDED = "embedded"
    """Only the embedded cluster, which makes these member ids itself; before a real Kafka they are
    `<client-id>-<uuid>`, made by the broker and lawful at any length."""


class Existing(StrEnum):
    """Whether an over-long name that exists already is served, because the request only looks up or removes."""

    NEVER = "never"
    ALWAYS = "always"
    CONDITIONAL = "conditional"
    """As the request's content says: `Field.condition`."""


class Part(StrEnum):
    """Which part of the string is the identifier."""

    WHOLE = ""
    SHARE_GROUP = "share_group"
    """The group of `group:topicId:partition`."""


@dataclass(frozen=True, slots=True)
class Api:
    """One request API of Kafka 4.3.1."""

    key: int
    name: str
    """As Kafka's schemas spell it, without `Request`."""
    first_version: int
    last_version: int
    """The newest that Kafka's schema knows."""
    stable_version: int
    """The newest that Kafka offers unless `unstable.api.versions.enable` is true; older where the schema says
    `latestVersionUnstable` (InitProducerId alone)."""
    listeners: tuple[str, ...]
    """`broker`, `controller` or both."""

    @property
    def log_name(self) -> str:
        """The name as Kafka's request log writes it (`requestApiKeyName`): FIND_COORDINATOR."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).upper()


@dataclass(frozen=True, slots=True)
class Selector:
    """The field beside an identifier that decides its kind, and the value that it must have for this row."""

    field: str
    """Its name in kio, beside the identifier or, where the identifier stands in a bare array, beside that."""
    value: str = ""
    """Empty where the row holds for every value, but the check asks for it (type of a quota entity)."""
    negated: bool = False

    @property
    def kafka_field(self) -> str:
        """The name as the request log writes it."""
        head, *tail = self.field.split("_")
        return head + "".join(word.capitalize() for word in tail)

    def selects(self, value: object) -> bool:
        """Whether the row holds for a request that has this value in the selecting field."""
        return not self.value or (str(value) == self.value) is not self.negated


@dataclass(frozen=True, slots=True)
class Field:
    """One string field of one request, classified. A field whose kind another field selects has several rows."""

    api_key: int
    api_name: str
    path: str
    """kio's names, from the request's root: `topics[].name`, `groups[]`, `header.client_id`."""
    kafka_path: str
    """Kafka's names, as in the request log: `topics[].name`, `groups[]`; the log's header is `requestHeader`."""
    first_version: int
    last_version: int
    kind: Kind | None = None
    reason: str = ""
    """Why the field is no identifier; empty when it has a kind."""
    selector: Selector | None = None
    part: Part = Part.WHOLE
    doors: Doors = Doors.ALL
    existing: Existing = Existing.NEVER
    condition: str = ""
    """When the request only looks up or removes, with paths from the request's root; empty unless CONDITIONAL."""

    @property
    def in_header(self) -> bool:
        return self.path.startswith(_HEADER_PREFIX)

    def identifier(self, value: str) -> str | None:
        """The identifier in a value of this field; None if the value has not the form that would hold one."""
        return share_key_group(value) if self.part is Part.SHARE_GROUP else value


@dataclass(frozen=True, slots=True)
class OpaqueField:
    """One bytes field of one request: identifiers inside make no RPC affected, but an audit may read them."""

    api_key: int
    api_name: str
    path: str
    kafka_path: str
    first_version: int
    last_version: int
    kinds: tuple[Kind, ...]
    holds: str
    """What the bytes are."""


def share_key_group(key: str) -> str | None:
    """The group of a share coordinator's key, read from the right: a group may hold colons itself.

    As SharePartitionKey.getInstance does, with Java's `split`, which drops empty strings at the end.
    """
    parts = key.rstrip(":").rsplit(":", 2)
    return parts[0] if len(parts) == 3 else None


def _rows(name: str) -> Iterator[dict[str, str]]:
    return csv.DictReader(read_facts(name).splitlines())


@cache
def load_apis() -> Mapping[int, Api]:
    """Every request API of Kafka 4.3.1, by key."""
    apis = (
        Api(
            key=int(row["api_key"]),
            name=row["name"],
            first_version=int(row["first_version"]),
            last_version=int(row["last_version"]),
            stable_version=int(row["stable_version"]),
            listeners=tuple(row["listeners"].split()),
        )
        for row in _rows("apis.csv")
    )
    return MappingProxyType({api.key: api for api in apis})


@cache
def _keys_by_name() -> Mapping[str, int]:
    return {api.name: api.key for api in load_apis().values()}


@cache
def load_fields() -> tuple[Field, ...]:
    """Every classified string field: the header's client id of every API, then the bodies'."""
    headers = (
        Field(
            api_key=api.key,
            api_name=api.name,
            path=f"{_HEADER_PREFIX}client_id",
            kafka_path=f"{_HEADER_PREFIX}clientId",
            first_version=api.first_version,
            last_version=api.last_version,
            kind=Kind.CLIENT_ID,
        )
        for api in load_apis().values()
    )
    return (*headers, *map(_field, _rows("fields.csv")))


def _field(row: Mapping[str, str]) -> Field:
    return Field(
        api_key=_keys_by_name()[row["api"]],
        api_name=row["api"],
        path=row["path"],
        kafka_path=row["kafka_path"],
        first_version=int(row["first_version"]),
        last_version=int(row["last_version"]),
        kind=Kind(row["kind"]) if row["kind"] else None,
        reason=row["reason"],
        selector=_selector(row["selector"]) if row["selector"] else None,
        part=Part(row["part"]),
        doors=Doors(row["doors"] or Doors.ALL),
        existing=Existing(row["existing"] or Existing.NEVER),
        condition=row["condition"],
    )


def _selector(text: str) -> Selector:
    """Read `field`, `field=value` or `field!=value`."""
    field, _, value = text.partition("=")
    return Selector(field.removesuffix("!"), value, negated=field.endswith("!"))


@cache
def load_opaque_fields() -> tuple[OpaqueField, ...]:
    """Every bytes field of every request, and what is inside."""
    return tuple(
        OpaqueField(
            api_key=_keys_by_name()[row["api"]],
            api_name=row["api"],
            path=row["path"],
            kafka_path=row["kafka_path"],
            first_version=int(row["first_version"]),
            last_version=int(row["last_version"]),
            kinds=_IDENTIFIER_KINDS if row["kinds"] == "*" else tuple(map(Kind, row["kinds"].split())),
            holds=row["holds"],
        )
        for row in _rows("opaque_fields.csv")
    )


@cache
def fields_of(api_key: int, version: int) -> tuple[Field, ...]:
    """The classified fields of a request at a version, header first; a new version has its predecessor's fields.

    Raises LookupError for an API or a version that the map does not know: nothing may pass unjudged as fieldless.
    """
    api = load_apis()[api_key]
    newest = identifier_version(api_key) or api.last_version
    if not api.first_version <= version <= newest:
        raise LookupError(f"{api.name} has no version {version}: known are {api.first_version} to {newest}")
    known = min(version, api.last_version)
    return tuple(
        field
        for field in load_fields()
        if field.api_key == api_key and field.first_version <= known <= field.last_version
    )


@cache
def identifiers_of(api_key: int, version: int) -> tuple[Field, ...]:
    """The fields of a request at a version that hold an identifier."""
    return tuple(field for field in fields_of(api_key, version) if field.kind is not None)


@cache
def affected_apis() -> frozenset[int]:
    """The APIs whose request body has an identifier of KIP-1233's table, topic names included."""
    return frozenset(field.api_key for field in load_fields() if field.kind is not None and not field.in_header)


def newest_version(api_key: int) -> int:
    """The newest version of an API that Kafka 4.3.1 knows, stable or not."""
    return load_apis()[api_key].last_version


def identifier_version(api_key: int) -> int | None:
    """The first version of an API that may answer RESOURCE_IDENTIFIER_TOO_LARGE; None if KIP-1233 gives it none."""
    if api_key not in affected_apis():
        return None
    return _IDENTIFIER_VERSIONS_OF_OTHER_PROPOSALS.get(api_key, newest_version(api_key) + 1)


def knows_new_code(api_key: int, version: int) -> bool:
    """Whether a client that asked at this version understands RESOURCE_IDENTIFIER_TOO_LARGE."""
    first = identifier_version(api_key)
    return first is not None and version >= first


def to_csv_rows() -> Iterator[tuple[int, str, str, str, int, int]]:
    """The fields with a kind as rows under `CSV_HEADER`, by API; one row per kind, over all of its versions."""
    versions: dict[tuple[int, str, str, str], tuple[int, int]] = {}
    for field in load_fields():
        if field.kind is None:
            continue
        key = (field.api_key, field.api_name, field.path, field.kind.value)
        first, last = versions.get(key, (field.first_version, field.last_version))
        versions[key] = min(first, field.first_version), max(last, field.last_version)
    for key in sorted(versions, key=lambda key: key[0]):
        yield (*key, *versions[key])
