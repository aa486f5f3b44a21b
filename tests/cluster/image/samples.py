"""Records for the tests of images: one of each kind, and lawful sequences of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from doorkeeper.cluster.image.metadata import MetadataDelta, MetadataImage, Provenance
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import MetadataVersion
from doorkeeper.wire.metadata.schema import Message
from doorkeeper.wire.metadata.serde import UnknownRecord

PLACE = Provenance(0, 0, 0)
DIRECTORY = UUID(int=100)

BROKER = types.RegisterBrokerRecord(
    broker_id=1,
    incarnation_id=UUID(int=11),
    broker_epoch=5,
    end_points=(types.Endpoint(name="PLAINTEXT", host="localhost", port=9092),),
    features=(types.SupportedFeature(name="metadata.version", min_supported_version=7, max_supported_version=1000),),
    rack="r1",
    log_dirs=(DIRECTORY,),
    static_configs=(
        types.BrokerStaticConfig(name="num.io.threads", value="8"),
        types.BrokerStaticConfig(name="listeners", value=None),
    ),
)
CONTROLLER = types.RegisterControllerRecord(
    controller_id=1,
    incarnation_id=UUID(int=12),
    end_points=(types.Endpoint(name="CONTROLLER", host="localhost", port=9093),),
)
TOPIC = types.TopicRecord(name="orders", topic_id=UUID(int=21))
PARTITION = types.PartitionRecord(
    partition_id=0,
    topic_id=TOPIC.topic_id,
    replicas=(1,),
    isr=(1,),
    leader=1,
    leader_epoch=0,
    partition_epoch=0,
    directories=(DIRECTORY,),
)
RETENTION = types.ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="5")
PASSWORD = types.ConfigRecord(resource_type=4, resource_name="1", name="ssl.key.password", value="hush")
QUOTA = types.ClientQuotaRecord(
    entity=(
        types.QuotaEntity(entity_type="user", entity_name=None),
        types.QuotaEntity(entity_type="client-id", entity_name="a b"),
    ),
    key="producer_byte_rate",
    value=10.0,
)
ACL = types.AccessControlEntryRecord(id=UUID(int=31), resource_type=2, resource_name="orders", principal="User:a")
SCRAM = types.UserScramCredentialRecord(
    name="alice", mechanism=1, salt=b"hush", stored_key=b"hush", server_key=b"hush", iterations=4096
)
TOKEN = types.DelegationTokenRecord(owner="User:a", requester="User:b", renewers=("User:c",), token_id="t1")
LEVEL = types.FeatureLevelRecord(name="metadata.version", feature_level=int(MetadataVersion.DOORKEEPER))


def replayed(image: MetadataImage, *records: Message | UnknownRecord) -> MetadataImage:
    """The image after these records, at the same place."""
    delta = MetadataDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply(PLACE)


def of(*records: Message | UnknownRecord) -> MetadataImage:
    return replayed(MetadataImage.EMPTY, *records)


IDS = st.integers(1, 3)
NAMES = st.sampled_from(["a", "b", "é😀"])
VALUES = st.none() | st.text(max_size=5)
REPLICAS = st.lists(st.integers(1, 3), max_size=3, unique=True).map(tuple)


@st.composite
def record_sequences(draw: st.DrawFn) -> list[Message | UnknownRecord]:
    """Records in an order that a controller could have decided: nothing is changed that is not there."""
    sequence: list[Message | UnknownRecord] = [LEVEL]
    brokers: dict[int, int] = {}
    topics: dict[UUID, set[int]] = {}
    names: dict[str, UUID] = {}
    acls: set[UUID] = set()
    for at in range(draw(st.integers(0, 25))):
        step = draw(st.sampled_from(_STEPS))
        record = step(draw, at, brokers, topics, names, acls)
        if record is not None:
            sequence.append(record)
    return sequence


def _broker(draw: st.DrawFn, at: int, brokers: dict[int, int], *_: Any) -> Message:
    broker_id = draw(IDS)
    brokers[broker_id] = at
    configs = draw(st.dictionaries(NAMES, VALUES, max_size=2))
    return types.RegisterBrokerRecord(
        broker_id=broker_id,
        broker_epoch=at,
        incarnation_id=UUID(int=at + 1),
        end_points=(types.Endpoint(name="P", host="h", port=draw(st.integers(0, 65535))),),
        rack=draw(VALUES),
        fenced=draw(st.booleans()),
        in_controlled_shutdown=draw(st.booleans()),
        log_dirs=tuple(UUID(int=i) for i in draw(st.lists(IDS, max_size=2))),
        cordoned_log_dirs=draw(st.none() | st.just(()) | st.just((UUID(int=3),))),
        static_configs=tuple(types.BrokerStaticConfig(name=k, value=v) for k, v in configs.items()),
    )


def _broker_change(draw: st.DrawFn, at: int, brokers: dict[int, int], *_: Any) -> Message | None:
    if not brokers:
        return None
    broker_id, epoch = draw(st.sampled_from(sorted(brokers.items())))
    kind = draw(st.integers(0, 3))
    if kind == 0:
        del brokers[broker_id]
        return types.UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch)
    if kind == 1:
        return types.FenceBrokerRecord(id=broker_id, epoch=epoch)
    if kind == 2:
        return types.UnfenceBrokerRecord(id=broker_id, epoch=epoch)
    return types.BrokerRegistrationChangeRecord(
        broker_id=broker_id,
        broker_epoch=epoch,
        fenced=draw(st.integers(-1, 1)),
        in_controlled_shutdown=draw(st.integers(0, 1)),
        log_dirs=tuple(UUID(int=i) for i in draw(st.lists(IDS, max_size=2))),
        cordoned_log_dirs=draw(st.none() | st.just(())),
    )


def _topic(draw: st.DrawFn, at: int, _b: Any, topics: dict[UUID, set[int]], names: dict[str, UUID], _a: Any) -> Message:
    name = draw(NAMES)
    if name in names:
        topic_id = names.pop(name)
        del topics[topic_id]
        return types.RemoveTopicRecord(topic_id=topic_id)
    names[name] = UUID(int=1000 + at)
    topics[names[name]] = set()
    return types.TopicRecord(name=name, topic_id=names[name])


def _partition(
    draw: st.DrawFn, at: int, _b: Any, topics: dict[UUID, set[int]], names: dict[str, UUID], _a: Any
) -> Message | None:
    if not topics:
        return None
    topic_id = draw(st.sampled_from(sorted(topics)))
    partition_id = draw(IDS)
    if partition_id in topics[topic_id]:
        return types.PartitionChangeRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            isr=draw(st.none() | REPLICAS),
            leader=draw(st.integers(-2, 3)),
            removing_replicas=draw(st.none() | REPLICAS),
            leader_recovery_state=draw(st.integers(-1, 1)),
            eligible_leader_replicas=draw(st.none() | REPLICAS),
            last_known_elr=draw(st.none() | REPLICAS),
        )
    topics[topic_id].add(partition_id)
    replicas = draw(REPLICAS)
    return types.PartitionRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=replicas,
        isr=replicas,
        leader=-1,
        leader_epoch=at,
        partition_epoch=at,
        directories=tuple(UUID(int=r) for r in replicas) if draw(st.booleans()) else (),
        eligible_leader_replicas=draw(st.none() | REPLICAS),
    )


def _clear_elr(draw: st.DrawFn, at: int, _b: Any, topics: Any, names: dict[str, UUID], _a: Any) -> Message:
    return types.ClearElrRecord(topic_name=draw(st.sampled_from(["", *sorted(names)])))


def _config(draw: st.DrawFn, *_: Any) -> Message:
    return types.ConfigRecord(
        resource_type=draw(st.sampled_from([2, 4])), resource_name=draw(NAMES), name=draw(NAMES), value=draw(VALUES)
    )


def _quota(draw: st.DrawFn, *_: Any) -> Message:
    parts = draw(st.dictionaries(st.sampled_from(["user", "client-id"]), st.none() | NAMES, min_size=1))
    return types.ClientQuotaRecord(
        entity=tuple(types.QuotaEntity(entity_type=k, entity_name=v) for k, v in parts.items()),
        key=draw(NAMES),
        value=draw(st.floats(allow_nan=False)),
        remove=draw(st.booleans()),
    )


def _acl(draw: st.DrawFn, at: int, _b: Any, _t: Any, _n: Any, acls: set[UUID]) -> Message:
    is_removal: bool = draw(st.booleans())
    if acls and is_removal:
        return types.RemoveAccessControlEntryRecord(id=acls.pop())
    acls.add(UUID(int=at))
    return types.AccessControlEntryRecord(id=UUID(int=at), resource_name=draw(NAMES), principal=draw(NAMES))


def _credential(draw: st.DrawFn, *_: Any) -> Message:
    name = draw(NAMES)
    return draw(
        st.sampled_from(
            [
                types.UserScramCredentialRecord(name=name, mechanism=1, salt=b"s", iterations=4096),
                types.RemoveUserScramCredentialRecord(name=name, mechanism=1),
                types.DelegationTokenRecord(token_id=name, renewers=(name,)),
                types.RemoveDelegationTokenRecord(token_id=name),
            ]
        )
    )


def _other(draw: st.DrawFn, at: int, *_: Any) -> Message | UnknownRecord:
    choices: list[Message | UnknownRecord] = [
        types.FeatureLevelRecord(name="group.version", feature_level=at % 2),
        types.ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=at * 1000),
        types.RegisterControllerRecord(controller_id=at % 2, incarnation_id=UUID(int=at)),
        types.NoOpRecord(),
        UnknownRecord(99, 0, bytes([at])),
    ]
    return draw(st.sampled_from(choices))


_STEPS: list[Callable[..., Message | UnknownRecord | None]] = [
    _broker, _broker_change, _topic, _topic, _partition, _partition,
    _clear_elr, _config, _quota, _acl, _credential, _other,
]  # fmt: skip
