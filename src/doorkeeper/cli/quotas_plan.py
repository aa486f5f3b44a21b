"""The difference between a file of quotas and a cluster's, and the requests that make it nought. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from doorkeeper.rules.client_id import DefaultEntity, QuotaEntity, desanitize, sanitize

MAX_OPS_PER_REQUEST: Final = 10_000
"""Quotas set or removed in one AlterClientQuotas: Kafka's controller stores a request at once, in at most 10,000
records (QuorumController.MAX_RECORDS_PER_USER_OP); one more and the whole request is refused."""
MAX_BYTES_PER_REQUEST: Final = 4 * 1024 * 1024
"""Of those records, about: a batch of the metadata log holds 8 MiB."""
_RECORD_BYTES: Final = 48

Name: TypeAlias = "str | DefaultEntity | None"
Present = Mapping[QuotaEntity, Mapping[str, float]]
Wanted = Mapping[QuotaEntity, Mapping[str, float | None]]
Alterations = dict[QuotaEntity, dict[str, float | None]]


@dataclass(frozen=True, slots=True)
class Difference:
    """One quota that file and cluster see differently; None where one of them has none."""

    entity: QuotaEntity
    key: str
    in_cluster: float | None
    in_file: float | None
    listed: bool
    """Whether the file speaks of this quota at all."""


def differences(wanted: Wanted, present: Present) -> list[Difference]:
    """Every quota that is not as the file says, and then those that the file does not speak of."""
    found = [
        Difference(entity, key, present.get(entity, {}).get(key), value, listed=True)
        for entity, quotas in wanted.items()
        for key, value in quotas.items()
        if present.get(entity, {}).get(key) != value
    ]
    found += [
        Difference(entity, key, value, None, listed=False)
        for entity, quotas in present.items()
        for key, value in quotas.items()
        if key not in wanted.get(entity, {})
    ]
    return found


def to_alterations(found: list[Difference]) -> Alterations:
    """What to ask of the cluster so that the differences vanish."""
    alterations: Alterations = {}
    for one in found:
        alterations.setdefault(one.entity, {})[one.key] = one.in_file
    return alterations


def requests(alterations: Mapping[QuotaEntity, Mapping[str, float | None]]) -> Iterator[Alterations]:
    """As few requests as the cluster takes, each entity in one piece."""
    batch: Alterations = {}
    ops = size = 0
    for entity, quotas in alterations.items():
        entity_size = sum(_record_size(entity, key) for key in quotas)
        too_many = ops + len(quotas) > MAX_OPS_PER_REQUEST or size + entity_size > MAX_BYTES_PER_REQUEST
        if batch and too_many:
            yield batch
            batch, ops, size = {}, 0, 0
        batch[entity] = dict(quotas)
        ops += len(quotas)
        size += entity_size
    if batch:
        yield batch


def _record_size(entity: QuotaEntity, key: str) -> int:
    names = (name for name in (entity.user, entity.client_id, entity.ip) if isinstance(name, str))
    return _RECORD_BYTES + len(key) + sum(len(name.encode("utf-8", "replace")) for name in names)


def encoded_twins(present: Present) -> dict[QuotaEntity, QuotaEntity]:
    """Entities that look like the URL-encoded form of another (KIP-190), which is what an older cluster stored.

    A client may really be called `a%20b`: these are offered for repair, never repaired unasked. Of names encoded twice
    over the inner one comes first: its place must be free before the outer one can move there.
    """
    twins: dict[QuotaEntity, QuotaEntity] = {}
    for entity in present:
        decoded = replace(entity, user=_decoded(entity.user), client_id=_decoded(entity.client_id))
        if decoded != entity:
            twins[entity] = decoded
    return {entity: decoded for entity, decoded in twins.items() if decoded not in twins}


def _decoded(name: Name) -> Name:
    if not isinstance(name, str) or "%" not in name:
        return name
    try:
        raw = desanitize(name)
    except ValueError:
        return name
    return raw if raw and sanitize(raw) == name else name


def repaired(twins: Mapping[QuotaEntity, QuotaEntity], present: Present) -> Alterations:
    """Each twin's quotas moved to its true name, unless that has one of its own."""
    alterations: Alterations = {}
    for entity, decoded in twins.items():
        own = present.get(decoded, {})
        moved = {key: value for key, value in present[entity].items() if key not in own}
        if moved:
            alterations.setdefault(decoded, {}).update(moved)
        alterations[entity] = dict.fromkeys(present[entity])
    return alterations
