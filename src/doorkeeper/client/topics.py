"""Topics: create, delete, grow, list, describe."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.client.api import Api, check_whole
from doorkeeper.client.errors import KafkaError, ThrottlingQuotaExceededError, error_for, raise_for
from doorkeeper.client.results import Results
from doorkeeper.client.router import METADATA, Target

if TYPE_CHECKING:
    from uuid import UUID

CREATE_TOPICS: Final = 19
DELETE_TOPICS: Final = 20
CREATE_PARTITIONS: Final = 37
LIST_GROUPS: Final = 16
BROKER_DEFAULT: Final = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be; partitions and replication factor default to the brokers' own defaults."""

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Broker ids by partition, in place of the two numbers."""
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """What a new topic was given; unknown (-1, None) before Kafka 2.4 and without the right to describe it."""

    topic_id: UUID | None
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """One partition and where it lives."""

    index: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """One topic."""

    name: str
    topic_id: UUID | None
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]


@dataclass(frozen=True, slots=True)
class GroupListing:
    """One group of the cluster; state and type are empty where the cluster is too old to say."""

    group_id: str
    protocol_type: str
    state: str = ""
    type: str = ""


class TopicsApi(Api):
    """The part of Admin about topics (and the list of groups).

    A topic that is refused because of a quota on changes (KIP-599) is asked for again once the cluster has had rest.
    """

    async def create_topics(
        self, topics: Iterable[NewTopic], *, validate_only: bool = False
    ) -> Results[str, CreatedTopic]:
        """Create topics; one that can't be created fails alone."""
        described = {
            one.name: {
                "name": one.name,
                "num_partitions": BROKER_DEFAULT if one.assignments else one.partitions,
                "replication_factor": BROKER_DEFAULT if one.assignments else one.replication_factor,
                "assignments": [{"partition_index": at, "broker_ids": ids} for at, ids in one.assignments.items()],
                "configs": [{"name": name, "value": value} for name, value in one.configs.items()],
            }
            for one in topics
        }

        async def send(names: list[str]) -> Any:
            values = {"topics": [described[name] for name in names], "validate_only": validate_only}
            return await self._change(CREATE_TOPICS, values)

        items = await self._until_unthrottled(list(described), send, "topics")
        return Results((one.name, _created(one), _error(one)) for one in items)

    async def delete_topics(self, names: Iterable[str]) -> Results[str, None]:
        """Delete topics by name."""

        async def send(wanted: list[str]) -> Any:
            topics = [{"name": name, "topic_id": None} for name in wanted]
            return await self._change(DELETE_TOPICS, {"topics": topics, "topic_names": wanted})

        items = await self._until_unthrottled(list(dict.fromkeys(names)), send, "responses")
        return Results((one.name, None, _error(one)) for one in items)

    async def create_partitions(self, counts: Mapping[str, int], *, validate_only: bool = False) -> Results[str, None]:
        """Let topics grow to that many partitions in all."""

        async def send(names: list[str]) -> Any:
            topics = [{"name": name, "count": counts[name], "assignments": None} for name in names]
            return await self._change(CREATE_PARTITIONS, {"topics": topics, "validate_only": validate_only})

        items = await self._until_unthrottled(list(counts), send, "results")
        return Results((one.name, None, _error(one)) for one in items)

    async def _change(self, api_key: int, values: Mapping[str, Any]) -> Any:
        timed = {**values, "timeout": self._server_timeout()}
        return await self._router.call(Target.CONTROLLER_BROKER, api_key, timed)

    async def _until_unthrottled(
        self, names: list[str], send: Callable[[list[str]], Awaitable[Any]], field_name: str
    ) -> list[Any]:
        """Ask for all, then again for those that a quota held back, as long as there is time."""
        clock = asyncio.get_running_loop()
        deadline = clock.time() + self._settings.api_timeout
        settled: list[Any] = []
        while True:
            answer = await send(names)
            items = getattr(answer, field_name)
            names = [one.name for one in items if one.error_code == ThrottlingQuotaExceededError.code]
            rest = max(answer.throttle_time.total_seconds(), self._settings.retry_backoff)
            if not names or clock.time() + rest > deadline:
                return [*settled, *items]
            settled += [one for one in items if one.name not in names]
            await asyncio.sleep(rest)

    async def list_topics(self, *, include_internal: bool = False) -> dict[str, TopicDescription]:
        """Every topic of the cluster by name."""
        answer = await self._router.call(
            Target.ANY_BROKER, METADATA, {"topics": None, "allow_auto_topic_creation": False}, _check_metadata
        )
        found = {one.name: _description(one) for one in answer.topics if one.error_code == 0}
        return {name: one for name, one in found.items() if include_internal or not one.is_internal}

    async def describe_topics(self, names: Iterable[str]) -> Results[str, TopicDescription]:
        """The given topics; none of them is created by asking."""
        asked = [{"name": name, "topic_id": None} for name in names]
        values = {"topics": asked, "allow_auto_topic_creation": False}
        answer = await self._router.call(Target.ANY_BROKER, METADATA, values, _check_metadata)
        return Results((one.name, _description(one), error_for(one.error_code)) for one in answer.topics)

    async def list_groups(self) -> list[GroupListing]:
        """Every group, asked of every broker."""
        await self._router.refresh()
        found: dict[str, GroupListing] = {}
        for node in sorted(self._router.nodes):
            answer = await self._router.call(node, LIST_GROUPS, {"states_filter": (), "types_filter": ()}, check_whole)
            for one in answer.groups:
                state, kind = getattr(one, "group_state", ""), getattr(one, "group_type", "")
                found[one.group_id] = GroupListing(one.group_id, one.protocol_type, state, kind)
        return list(found.values())


def _check_metadata(answer: Any) -> None:
    raise_for(getattr(answer, "error_code", 0))


def _error(item: Any) -> KafkaError | None:
    return error_for(item.error_code, getattr(item, "error_message", None))


def _created(item: Any) -> CreatedTopic:
    return CreatedTopic(
        getattr(item, "topic_id", None),
        getattr(item, "num_partitions", BROKER_DEFAULT),
        getattr(item, "replication_factor", BROKER_DEFAULT),
    )


def _description(item: Any) -> TopicDescription:
    partitions = (
        PartitionDescription(
            one.partition_index,
            one.leader_id,
            tuple(one.replica_nodes),
            tuple(one.isr_nodes),
            tuple(getattr(one, "offline_replicas", ())),
        )
        for one in item.partitions
    )
    ordered = tuple(sorted(partitions, key=lambda one: one.index))
    return TopicDescription(item.name, getattr(item, "topic_id", None), item.is_internal, ordered)
