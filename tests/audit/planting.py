"""Real clients that leave lawful and unlawful names behind in a cluster, and what an audit must find of them.

Every name is planted at its limit, which is no finding, and one beyond. Groups, transactions and commits go through
confluent-kafka, administration through Doorkeeper's own client; what no client library offers yet (share and streams
groups, member ids of one's own choice) is asked for on the wire.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, Producer
from tests.kafka.requests import Connection, create_topic, make_request

from doorkeeper.client import (
    AclBinding,
    AclOperation,
    AclPermission,
    AclResourceType,
    Admin,
    AlterConfigOp,
    ConfigResource,
    PatternType,
    ScramMechanism,
    ScramUpsertion,
)
from doorkeeper.rules.client_id import QuotaEntity
from doorkeeper.rules.config_change import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC = "orders"
OFFSET_COMMIT = 8
CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT = 68, 76, 88
SECONDS = 30

Planted = set[tuple[str, str, str]]
"""(source, rule, value) of what must be found."""


def long_name(prefix: str) -> str:
    """One unit beyond 249."""
    return prefix.ljust(250, "x")


def lawful_name(prefix: str) -> str:
    """At the limit."""
    return prefix.ljust(249, "x")


def until(condition: Callable[[], Any]) -> Any:
    """Ask again until the answer is true, each time with the client's own wait."""
    for _ in range(SECONDS * 10):
        if answer := condition():
            return answer
    raise AssertionError("it did not come true in time")


def plant_groups(bootstrap: str) -> Planted:
    """A group of each protocol with a name at the limit and one beyond, an instance id, racks and client ids."""
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "plain"})
    for at in range(3):
        producer.produce(TOPIC, key=b"never read", value=f"{at}".encode())
    assert producer.flush(SECONDS) == 0
    for protocol in ("classic", "consumer"):
        for make in (lawful_name, long_name):
            _consume(
                bootstrap,
                {
                    "group.id": make(f"{protocol}-group-"),
                    "group.instance.id": make(f"{protocol}-instance-"),
                    "client.rack": make(f"{protocol}-rack-"),
                    "client.id": f"{protocol} client/{make.__name__}",
                    "group.protocol": protocol,
                },
            )
    found = {
        ("segments", rule, long_name(f"{protocol}-{word}-"))
        for protocol in ("classic", "consumer")
        for rule, word in (("GROUP_ID_TOO_LONG", "group"), ("GROUP_INSTANCE_ID_TOO_LONG", "instance"))
    }
    found |= {("segments", "RACK_ID_TOO_LONG", long_name(f"{protocol}-rack-")) for protocol in ("classic", "consumer")}
    return found | {
        ("segments", "CLIENT_ID_NOT_PLAIN", f"{protocol} client/{make.__name__}")
        for protocol in ("classic", "consumer")
        for make in (lawful_name, long_name)
    }


def _consume(bootstrap: str, settings: dict[str, str]) -> None:
    """Join, read one record, and commit behind it."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", "enable.auto.commit": False, **settings}
    )
    try:
        consumer.subscribe([TOPIC])
        message = until(lambda: consumer.poll(0.1))
        assert message.error() is None
        consumer.commit(message=message, asynchronous=False)
    finally:
        consumer.close()


def plant_offset_metadata(connection: Connection) -> Planted:
    """Committed beside an offset; where the broker's own limit is raised, beyond Kafka's default one.

    On the wire, for librdkafka sends a NUL behind the metadata and so has room for one unit less.
    """
    for length in (4096, 4097):
        partition = {
            "partition_index": 0,
            "committed_offset": 1,
            "committed_leader_epoch": -1,
            "committed_metadata": "m" * length,
        }
        request = make_request(
            OFFSET_COMMIT,
            8,
            group_id="commits",
            generation_id_or_member_epoch=-1,
            member_id="",
            group_instance_id=None,
            topics=[{"name": TOPIC, "partitions": [partition]}],
        )
        (topic,) = connection.call(request).topics
        assert int(topic.partitions[0].error_code) == 0
    return {("segments", "OFFSET_METADATA_TOO_LONG", "m" * 4097)}


def plant_transactions(bootstrap: str) -> Planted:
    """A transaction under a name at the limit, and one beyond."""
    for name in (lawful_name("transactional-"), long_name("transactional-")):
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "client.id": "plain"})
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        producer.produce(TOPIC, b"in a transaction")
        producer.commit_transaction(SECONDS)
    return {("segments", "TRANSACTIONAL_ID_TOO_LONG", long_name("transactional-"))}


def plant_member_ids(connection: Connection) -> Planted:
    """Member ids that a client makes itself; and one that only looks as if a broker had made it."""
    uuid = "8d8ac610-566d-4ef0-9c22-186b2a5ed792"
    for member_id in ("m" * 36, "m" * 37, f"client-{uuid}"):
        request = make_request(
            CONSUMER_GROUP_HEARTBEAT,
            1,
            group_id="members",
            member_id=member_id,
            member_epoch=0,
            rebalance_timeout=timedelta(seconds=60),
            subscribed_topic_names=(TOPIC,),
            topic_partitions=(),
        )
        assert int(connection.call(request).error_code) == 0
    return {("segments", "MEMBER_ID_TOO_LONG", "m" * 37)}


def plant_share_and_streams(connection: Connection) -> Planted:
    """Groups of the two newest kinds."""
    for make in (lawful_name, long_name):
        share = make_request(
            SHARE_GROUP_HEARTBEAT,
            1,
            group_id=make("share-group-"),
            member_id="AAAAAAAAAAAAAAAAAAAAAQ",
            member_epoch=0,
            rack_id=make("share-rack-"),
            subscribed_topic_names=(TOPIC,),
        )
        assert int(connection.call(share).error_code) == 0
        subtopology = {
            "subtopology_id": "0",
            "source_topics": (TOPIC,),
            "source_topic_regex": (),
            "state_changelog_topics": (),
            "repartition_sink_topics": (),
            "repartition_source_topics": (),
            "copartition_groups": (),
        }
        streams = make_request(
            STREAMS_GROUP_HEARTBEAT,
            0,
            group_id=make("streams-group-"),
            member_id="AAAAAAAAAAAAAAAAAAAAAQ",
            member_epoch=0,
            endpoint_information_epoch=0,
            rack_id=make("streams-rack-"),
            instance_id=None,
            rebalance_timeout=timedelta(seconds=60),
            topology={"epoch": 0, "subtopologies": [subtopology]},
            active_tasks=(),
            standby_tasks=(),
            warmup_tasks=(),
            process_id="process",
            client_tags=(),
            task_offsets=None,
            task_end_offsets=None,
        )
        assert int(connection.call(streams).error_code) == 0
    return {
        ("segments", rule, long_name(f"{kind}-{word}-"))
        for kind in ("share", "streams")
        for rule, word in (("GROUP_ID_TOO_LONG", "group"), ("RACK_ID_TOO_LONG", "rack"))
    }


async def _administer(bootstrap: str) -> None:
    async with Admin(bootstrap, client_id="plain") as admin:
        quotas = {
            QuotaEntity(client_id=lawful_name("quota-client-")): {"producer_byte_rate": 1024.0},
            QuotaEntity(client_id=long_name("quota-client-")): {"producer_byte_rate": 1024.0},
            QuotaEntity(user=long_name("quota-user-")): {"request_percentage": 50.0},
            QuotaEntity(client_id="a%20b"): {"consumer_byte_rate": 1024.0},
            QuotaEntity(client_id="a b"): {"consumer_byte_rate": 1024.0},
            QuotaEntity(client_id=long_name("quota-gone-")): {"producer_byte_rate": 1024.0},
        }
        (await admin.alter_client_quotas(quotas)).require()
        gone = QuotaEntity(client_id=long_name("quota-gone-"))
        (await admin.alter_client_quotas({gone: {"producer_byte_rate": None}})).require()
        upsertion = ScramUpsertion("scram-user", ScramMechanism.SCRAM_SHA_256, b"never shown anywhere")
        (await admin.alter_user_scram_credentials([upsertion])).require()
        topic = ConfigResource(ResourceType.TOPIC, TOPIC)
        change = {topic: [AlterConfigOp("retention.ms", "100000", Operation.SET)]}
        (await admin.incremental_alter_configs(change)).require()


def plant_metadata(bootstrap: str) -> Planted:
    """Quotas, one of them removed again, a SCRAM user and a lawful config."""
    asyncio.run(_administer(bootstrap))
    return {
        ("metadata", "CLIENT_ID_TOO_LONG", long_name("quota-client-")),
        ("metadata", "RESOURCE_NAME_TOO_LONG", long_name("quota-user-")),
        ("metadata", "QUOTA_ENTITY_ENCODED_TWICE", "a%20b"),
    }


async def _allow(bootstrap: str) -> None:
    bindings = [
        AclBinding(
            resource_type=AclResourceType.TOPIC,
            resource_name=make("acl-resource-"),
            pattern_type=PatternType.LITERAL,
            principal="User:" + make("acl-principal-")[5:],
            host=make("acl-host-"),
            operation=AclOperation.READ,
            permission=AclPermission.ALLOW,
        )
        for make in (lawful_name, long_name)
    ]
    async with Admin(bootstrap, client_id="plain") as admin:
        (await admin.create_acls(bindings)).require()


def plant_acls(bootstrap: str) -> Planted:
    """An ACL whose three names are at the limit, and one whose are beyond."""
    asyncio.run(_allow(bootstrap))
    return {
        ("metadata", "ACL_PRINCIPAL_TOO_LONG", "User:" + long_name("acl-principal-")[5:]),
        ("metadata", "ACL_HOST_TOO_LONG", long_name("acl-host-")),
        ("metadata", "RESOURCE_NAME_TOO_LONG", long_name("acl-resource-")),
    }


async def _configure(controllers: str, changes: dict[str, list[tuple[str, str]]]) -> None:
    async with Admin(controllers, controllers=True, client_id="plain") as admin:
        for name, pairs in changes.items():
            resource = ConfigResource(ResourceType.BROKER, name)
            for key, value in pairs:
                change = {resource: [AlterConfigOp(key, value, Operation.SET)]}
                (await admin.incremental_alter_configs(change)).require()


def plant_bad_configs(controllers: str) -> Planted:
    """Through the controllers' door, which lets values in that no broker accepts (KAFKA-19931)."""
    changes = {
        "1": [("num.io.threads", "12"), ("num.io.threads", "24"), ("log.retention.ms", "100000")],
        "": [("background.threads", "1000"), ("log.cleaner.threads", "2")],
    }
    asyncio.run(_configure(controllers, changes))
    return {("metadata", "CONFIG_THREAD_POOL", "broker default: background.threads=1000")}


def plant_topic(connection: Connection) -> None:
    """The topic that all the others use."""
    code, message = create_topic(connection, TOPIC)
    assert code == 0, message
