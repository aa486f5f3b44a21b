"""What an audit tells of a cluster's stored metadata: names over their limits, quotas that bind nobody, bad configs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from doorkeeper.audit.metadata_state import MetadataState, Place
from doorkeeper.audit.segments import is_worth_telling
from doorkeeper.audit.sightings import Sighting
from doorkeeper.audit.stored_configs import config_sightings
from doorkeeper.rules.client_id import desanitize
from doorkeeper.rules.config_change import ResourceType
from doorkeeper.rules.names import check_quota_entity
from doorkeeper.rules.verdict import Kind, RuleId
from doorkeeper.wire.registry import Door

Told = tuple[Sighting, Place]
IP_ENTITY: Final = "ip"


def sightings_of(state: MetadataState, given: Mapping[str, Mapping[str, str]]) -> Iterator[Told]:
    """Everything worth telling; `given` are server.properties by broker id, for brokers that reported none."""
    yield from _topics(state)
    yield from _racks(state)
    yield from _acls(state)
    yield from _quotas(state)
    yield from _resources(state)
    yield from config_sightings(state, given)


def _told(kind: Kind, value: str, where: str, place: Place, door: str | None = None) -> Iterator[Told]:
    if is_worth_telling(kind, value):
        sighting = Sighting(kind, value, where)
        yield sighting if door is None else sighting._replace(door=door), place


def _topics(state: MetadataState) -> Iterator[Told]:
    for name, place in state.topics.values():
        yield from _told(Kind.TOPIC_NAME, name, "TopicRecord.name", place)


def _racks(state: MetadataState) -> Iterator[Told]:
    """Brokers register at the controllers' door."""
    for broker in state.brokers.values():
        if broker.rack is not None:
            where = "RegisterBrokerRecord.rack"
            yield from _told(Kind.RACK_ID, broker.rack, where, broker.place, Door.CONTROLLER.value)


def _acls(state: MetadataState) -> Iterator[Told]:
    for record, place in state.acls.values():
        where = "AccessControlEntryRecord"
        yield from _told(Kind.ACL_PRINCIPAL, record.principal, f"{where}.principal", place)
        yield from _told(Kind.ACL_HOST, record.host, f"{where}.host", place)
        yield from _told(Kind.RESOURCE_NAME, record.resource_name, f"{where}.resourceName", place)


def _resources(state: MetadataState) -> Iterator[Told]:
    """The resources that have configs; for a topic's name stands the topic itself."""
    for (resource_type, name), stored in state.configs.items():
        if resource_type != ResourceType.TOPIC and stored:
            place = min((place for _, place in stored.values()), key=lambda one: one[:2])
            yield from _told(Kind.RESOURCE_NAME, name, "ConfigRecord.resourceName", place)


def _quotas(state: MetadataState) -> Iterator[Told]:
    for entity, stored in state.quotas.items():
        place = min(stored.values(), key=lambda one: one[:2])
        for entity_type, name in entity:
            if name is not None:
                sighting = _quota_entity(entity_type, name)
                if sighting is not None:
                    yield sighting, place


def _quota_entity(entity_type: str, name: str) -> Sighting | None:
    """Judged here, for its type decides the rule and no table carries the type."""
    seen = Sighting(Kind.QUOTA_ENTITY, name, f"ClientQuotaRecord.entity[].entityName ({entity_type})")
    violation = check_quota_entity(name, entity_type)
    if violation is not None:
        return seen._replace(
            rule=violation.rule.value,
            limit=int(violation.parameters["limit"]),
            answer_new=int(violation.code),
            answer_old=int(violation.code_old),
        )
    plain = decoded(name) if entity_type != IP_ENTITY else None
    if plain is None:
        return None
    detail = f"binds only the {entity_type} that is spelled so; '{plain}' has no quota by it"
    return seen._replace(rule=RuleId.QUOTA_ENTITY_ENCODED_TWICE.value, detail=detail)


def decoded(name: str) -> str | None:
    """The name that this is the URL-encoded form of; None if it is none.

    Tools of older releases wrote quotas under encoded names; taken over as they were, they are encoded twice in metric
    names, and bind nobody.
    """
    if "%" not in name:
        return None
    try:
        plain = desanitize(name)
    except ValueError:
        return None
    return plain if plain != name else None
