"""The metadata log: the latest state counts, names are judged, and stored configs as every broker would judge them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.audit.stored import TIME, rows_of, rows_of_files, sightings, totals

from doorkeeper.audit.metadata import files_of, known_configs, load_state, read_range, recognise
from doorkeeper.audit.readers import ByteRange, ReadOptions
from doorkeeper.audit.segments import is_companion
from doorkeeper.audit.stored_configs import STATEFUL_KEYS
from doorkeeper.audit.stored_state import decoded
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.schema import Message
from doorkeeper.wire.metadata.serde import VersionedRecord, write_metadata_record
from doorkeeper.wire.metadata.types import BrokerStaticConfig, QuotaEntity
from doorkeeper.wire.records import Record, write_batch

VECTOR = Path(__file__).parent.parent / "vectors" / "metadata-log-4.3.1"
LONG = "n" * 250
LAWFUL = "n" * 249
TOPIC = UUID(int=1)
TYPE_TOPIC, TYPE_BROKER, TYPE_METRICS, TYPE_GROUP = 2, 4, 16, 32
STATIC = {"num.io.threads": "8", "log.cleaner.threads": "2"}


def batch(messages: Iterable[Message], base: int = 0) -> bytes:
    records = [
        Record(write_metadata_record(VersionedRecord(one, one.highest_version)), None, TIME + base) for one in messages
    ]
    return write_batch(records, base_offset=base)


def log(folder: Path, *messages: Message, name: str = f"{0:020}.log", base: int = 0) -> Path:
    path = folder / "__cluster_metadata-0" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(batch(messages, base) if messages else b"")
    return path


def broker(number: int = 1, rack: str | None = None, **static: str) -> types.RegisterBrokerRecord:
    configs = tuple(BrokerStaticConfig(name=key.replace("_", "."), value=value) for key, value in static.items())
    return types.RegisterBrokerRecord(broker_id=number, rack=rack, static_configs=configs)


def config(name: str, key: str, value: str | None, resource_type: int = TYPE_BROKER) -> types.ConfigRecord:
    return types.ConfigRecord(resource_type=resource_type, resource_name=name, name=key, value=value)


def quota(name: str | None, kind: str = "client-id", key: str = "producer_byte_rate", remove: bool = False) -> Message:
    entity = (QuotaEntity(entity_type=kind, entity_name=name),)
    return types.ClientQuotaRecord(entity=entity, key=key, value=1.0, remove=remove)


def acl(number: int, **names: str) -> types.AccessControlEntryRecord:
    values = {"resource_name": "r", "principal": "User:a", "host": "*"} | names
    return types.AccessControlEntryRecord(id=UUID(int=number), resource_type=2, **values)  # type: ignore[arg-type]


def told(folder: Path, *messages: Message, given: dict[str, dict[str, str]] | None = None) -> list[tuple[str, str]]:
    return sightings(rows_of(read_range, log(folder, *messages), ReadOptions(brokers=given or {})))


def verdicts(folder: Path, *messages: Message, given: dict[str, dict[str, str]] | None = None) -> dict[str, str]:
    """Each config told, and its rule or that it could not be judged."""
    rows = rows_of(read_range, log(folder, *messages), ReadOptions(brokers=given or {}))
    found = {}
    for row in rows:
        if row.get("kind") == "config_change":
            found[row["value"]] = row["outcome"] if "rule" not in row else row["rule"]
    return found


def test_tells_every_name_over_its_limit(tmp_path: Path) -> None:
    assert told(
        tmp_path,
        types.TopicRecord(name="t", topic_id=TOPIC),
        broker(rack=LONG),
        broker(2, rack=LAWFUL),
        acl(1, principal=f"User:{'p' * 245}", host=LONG, resource_name="z" * 250),
        acl(2, principal=f"User:{'p' * 244}", host=LAWFUL, resource_name=LAWFUL),
        quota(LONG),
        quota(LAWFUL),
        quota(None),
        config("g" * 250, "consumer.session.timeout.ms", "45000", TYPE_GROUP),
        types.UserScramCredentialRecord(name=LONG, mechanism=1, iterations=4096),
    ) == [
        ("acl_host", LONG),
        ("acl_principal", f"User:{'p' * 245}"),
        ("quota_entity", LONG),
        ("rack_id", LONG),
        ("resource_name", "g" * 250),
        ("resource_name", "z" * 250),
    ]


def test_what_was_deleted_since_is_no_finding(tmp_path: Path) -> None:
    assert told(
        tmp_path,
        types.TopicRecord(name="bad name", topic_id=TOPIC),
        config("bad name", "retention.ms", "-7", TYPE_TOPIC),
        types.RemoveTopicRecord(topic_id=TOPIC),
        broker(rack=LONG),
        types.UnregisterBrokerRecord(broker_id=1),
        acl(1, host=LONG),
        types.RemoveAccessControlEntryRecord(id=UUID(int=1)),
        quota(LONG),
        quota(LONG, remove=True),
        config("", "num.io.threads", "-1"),
        config("", "num.io.threads", None),
    ) == []  # fmt: skip


def test_a_quota_that_keeps_one_of_two_keys_is_still_there(tmp_path: Path) -> None:
    messages = (quota(LONG), quota(LONG, key="consumer_byte_rate"), quota(LONG, remove=True))
    assert told(tmp_path, *messages) == [("quota_entity", LONG)]


def test_a_transaction_counts_whole_or_not_at_all(tmp_path: Path) -> None:
    begin, end, abort = types.BeginTransactionRecord(), types.EndTransactionRecord(), types.AbortTransactionRecord()
    messages = (begin, acl(1, host="a" * 250), end, begin, acl(2, host="b" * 250), abort, begin, acl(3, host="c" * 250))
    assert told(tmp_path, *messages) == [("acl_host", "a" * 250)]


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("a%20b", "a b"),
        ("a%2520b", "a%20b"),
        ("%C3%A9", "é"),
        ("a b", None),
        ("100%", None),
        ("%zz", None),
        ("a+b", None),
    ],
)
def test_knows_a_name_that_is_encoded_already(name: str, plain: str | None) -> None:
    assert decoded(name) == plain


def test_a_quota_stored_under_an_encoded_name_is_told_with_whom_it_does_not_bind(tmp_path: Path) -> None:
    path = log(tmp_path, quota("a%20b"), quota("a%20b", "user"), quota("10.0.0.1%20", "ip"), quota("plain"))
    rows = [row for row in rows_of(read_range, path) if row["entry"] == "sighting"]
    assert {(row["rule"], row["value"]) for row in rows} == {("QUOTA_ENTITY_ENCODED_TWICE", "a%20b")}
    assert len(rows) == 2
    assert all("'a b' has no quota by it" in row["detail"] for row in rows)


def test_a_quota_entity_over_its_limit_is_judged_by_its_type(tmp_path: Path) -> None:
    rows = rows_of(read_range, log(tmp_path, quota(LONG), quota("u" * 250, "user")))
    found = {
        row["value"]: (row["rule"], row["limit"], row["answer_new"], row["answer_old"]) for row in rows if "rule" in row
    }
    assert found == {
        LONG: ("CLIENT_ID_TOO_LONG", 249, 134, 42),
        "u" * 250: ("RESOURCE_NAME_TOO_LONG", 249, 134, 42),
    }


# --- stored configs ----------------------------------------------------------------------------------------------


def test_a_value_that_is_wrong_by_itself_is_refused_whatever_is_known(tmp_path: Path) -> None:
    assert verdicts(tmp_path, config("", "num.io.threads", "0"), config("1", "log.retention.ms", "soon")) == {
        "broker default: num.io.threads=0": "CONFIG_VALUE_INVALID",
        "broker 1: log.retention.ms=soon": "CONFIG_VALUE_INVALID",
    }


def test_a_pool_beyond_double_its_size_is_refused_by_the_brokers_static_configs(tmp_path: Path) -> None:
    eight = broker(num_io_threads="8")
    bad = {"broker default: num.io.threads=17": "CONFIG_THREAD_POOL"}
    assert verdicts(tmp_path, eight, config("", "num.io.threads", "17")) == bad
    assert verdicts(tmp_path, eight, config("", "num.io.threads", "16")) == {}


def test_a_pool_that_grew_step_by_step_is_lawful(tmp_path: Path) -> None:
    steps = [config("1", "num.io.threads", str(size)) for size in (16, 32, 64)]
    assert verdicts(tmp_path, broker(num_io_threads="8"), *steps) == {}
    assert verdicts(tmp_path, broker(num_io_threads="8"), steps[0], steps[2]) == {
        "broker 1: num.io.threads=64": "CONFIG_THREAD_POOL"
    }


def test_a_default_binds_only_brokers_without_a_value_of_their_own(tmp_path: Path) -> None:
    messages = (
        broker(num_io_threads="8"),
        config("1", "num.io.threads", "12"),
        config("", "num.io.threads", "100"),
    )
    assert verdicts(tmp_path, *messages) == {}
    assert verdicts(tmp_path, *messages, broker(2, num_io_threads="8")) == {
        "broker default: num.io.threads=100": "CONFIG_THREAD_POOL"
    }


def test_a_bad_value_of_one_broker_is_not_held_against_the_default(tmp_path: Path) -> None:
    messages = (
        broker(num_io_threads="8"),
        config("1", "num.io.threads", "9999"),
        config("1", "background.threads", "20"),
        config("", "log.cleaner.threads", "2"),
        config("", "min.insync.replicas", "1"),
    )
    assert verdicts(tmp_path, *messages) == {"broker 1: num.io.threads=9999": "CONFIG_THREAD_POOL"}


def test_without_static_configs_what_depends_on_them_could_not_be_judged(tmp_path: Path) -> None:
    old = log(tmp_path, config("1", "num.io.threads", "9999"), config("1", "log.message.timestamp.type", "CreateTime"))
    registration = write_batch(
        [Record(write_metadata_record(VersionedRecord(types.RegisterBrokerRecord(broker_id=1), 4)), None, TIME)],
        base_offset=2,
    )
    old.write_bytes(old.read_bytes() + registration)
    rows = [row for row in rows_of(read_range, old) if row.get("kind") == "config_change"]
    assert [(row["value"], row.get("rule")) for row in rows] == [("broker 1: num.io.threads=9999", None)]
    assert rows[0]["outcome"] == "could_not_judge"
    assert rows[0]["detail"] == "the static configs of a broker that it concerns are not known"
    given = ReadOptions(brokers={"1": STATIC})
    rows = [row for row in rows_of(read_range, old, given) if row.get("kind") == "config_change"]
    assert [(row["value"], row["rule"]) for row in rows] == [("broker 1: num.io.threads=9999", "CONFIG_THREAD_POOL")]


def test_a_pool_out_of_a_snapshot_has_no_history_and_is_judged_only_where_it_needs_none(tmp_path: Path) -> None:
    records = (broker(num_io_threads="8"), config("1", "num.io.threads", "64"), config("1", "background.threads", "11"))
    path = log(tmp_path, *records, name=f"{3:020}-{1:010}.checkpoint")
    found = {row["value"]: row.get("rule") for row in rows_of(read_range, path) if row.get("kind") == "config_change"}
    assert found == {"broker 1: num.io.threads=64": None}


def test_of_two_values_that_exclude_each_other_the_later_one_is_told(tmp_path: Path) -> None:
    static = broker(log_retention_ms="100000")
    first = config("1", "log.retention.ms", "1000")
    second = config("1", "log.local.retention.ms", "5000")
    path = log(tmp_path, static)
    path.write_bytes(path.read_bytes() + batch([first], 1) + batch([second], 2))
    rows = [row for row in rows_of(read_range, path) if row.get("kind") == "config_change"]
    assert [(row["value"], row["rule"]) for row in rows] == [
        ("broker 1: log.local.retention.ms=5000", "CONFIG_LOCAL_RETENTION")
    ]


def test_topics_and_groups_are_judged_by_a_controllers_configs_where_they_are_given(tmp_path: Path) -> None:
    messages = (
        config("t", "retention.ms", "-7", TYPE_TOPIC),
        config("t", "no.such.key", "1", TYPE_TOPIC),
        config("t", "remote.storage.enable", "true", TYPE_TOPIC),
        config("g", "consumer.session.timeout.ms", "1", TYPE_GROUP),
        config("m", "interval.ms", "0", TYPE_METRICS),
    )
    certain = {
        "topic t: retention.ms=-7": "CONFIG_VALUE_INVALID",
        "topic t: no.such.key=[hidden]": "CONFIG_KEY_UNKNOWN",
        "client-metrics m: interval.ms=0": "CONFIG_VALUE_INVALID",
    }
    found = verdicts(tmp_path, *messages)
    assert certain.items() <= found.items()
    assert found.keys() - certain.keys() == {
        "topic t: remote.storage.enable=true",
        "group g: consumer.session.timeout.ms=1",
    }
    controller = {"process.roles": "broker,controller", "remote.log.storage.system.enable": "true"}
    given = verdicts(tmp_path, *messages, given={"1": controller})
    assert "topic t: remote.storage.enable=true" not in given
    assert given["group g: consumer.session.timeout.ms=1"] == "CONFIG_GROUP_BOUNDS"


def test_secrets_never_appear(tmp_path: Path) -> None:
    secret = "hunter2"
    messages = (
        broker(),
        config("1", "listener.name.external.ssl.key.password", secret),
        config("1", "ssl.keystore.password", secret),
        config("1", "my.plugin.token", secret),
        types.UserScramCredentialRecord(name="u", mechanism=1, salt=secret.encode(), stored_key=secret.encode()),
    )
    rows = rows_of(read_range, log(tmp_path, *messages))
    assert any(row.get("rule") == "CONFIG_KEY_NEEDS_LISTENER" for row in rows)
    assert secret not in json.dumps(rows, default=str)


def test_the_keys_judged_by_their_history_are_the_pools() -> None:
    assert {"num.io.threads", "num.network.threads", "background.threads", "log.cleaner.threads"} <= STATEFUL_KEYS
    assert "log.retention.ms" not in STATEFUL_KEYS


# --- files -------------------------------------------------------------------------------------------------------


def snapshot(folder: Path, offset: int, *messages: Message) -> Path:
    return log(folder, *messages, name=f"{offset:020}-{1:010}.checkpoint")


def test_the_newest_snapshot_stands_for_what_went_before_it(tmp_path: Path) -> None:
    log(tmp_path, acl(1, host="a" * 250), acl(2, host="b" * 250), acl(3, host="c" * 250))
    snapshot(tmp_path, 1, acl(9, host="z" * 250))
    snapshot(tmp_path, 2, acl(2, host="b" * 250))
    rows = _all_rows(tmp_path)
    assert sightings(rows) == [("acl_host", "b" * 250), ("acl_host", "c" * 250)]
    assert totals(rows) == {
        ("judged", ""): 2,
        ("ignored", "record that a snapshot stands for"): 2,
        ("ignored", "record of an older snapshot"): 1,
    }


def test_a_torn_snapshot_is_passed_over_for_an_older_one_or_the_log(tmp_path: Path) -> None:
    log(tmp_path, acl(1, host="a" * 250), acl(2, host="b" * 250))
    snapshot(tmp_path, 1, acl(1, host="a" * 250))
    torn = snapshot(tmp_path, 2, acl(7, host="z" * 250))
    torn.write_bytes(torn.read_bytes()[:-3])
    rows = _all_rows(tmp_path)
    assert sightings(rows) == [("acl_host", "a" * 250), ("acl_host", "b" * 250)]
    assert totals(rows)["malformed", "torn batch"] == 1


def _all_rows(folder: Path) -> list[dict[str, Any]]:
    return rows_of_files(read_range, sorted((folder / "__cluster_metadata-0").iterdir(), reverse=True))


def test_segments_of_other_topics_are_no_metadata_even_where_the_folder_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(batch([acl(1, host=LONG)]))
    assert rows_of(read_range, path) == []
    path.parent.rename(tmp_path / "copied")
    assert sightings(rows_of(read_range, tmp_path / "copied" / path.name)) == [("acl_host", LONG)]


def test_segments_follow_one_another(tmp_path: Path) -> None:
    log(tmp_path, acl(1, host="a" * 250))
    log(tmp_path, types.RemoveAccessControlEntryRecord(id=UUID(int=1)), name=f"{1:020}.log", base=1)
    rows = _all_rows(tmp_path)
    assert sightings(rows) == []
    assert totals(rows) == {("judged", ""): 2}


def test_what_is_told_belongs_to_the_directory_and_what_was_read_to_its_files(tmp_path: Path) -> None:
    path = log(tmp_path, acl(1, host=LONG))
    rows = rows_of(read_range, path)
    assert {row["file"] for row in rows if row["entry"] == "sighting"} == {str(path.parent)}
    assert {row["file"] for row in rows if row.get("outcome") == "judged"} == {str(path)}


def test_a_directory_counts_as_read_also_where_there_is_nothing_to_tell(tmp_path: Path) -> None:
    path = log(tmp_path, acl(1, host=LAWFUL))
    assert str(path.parent) in {row["file"] for row in rows_of(read_range, path)}


def test_broken_parts_are_counted_with_their_place_and_the_rest_is_read(tmp_path: Path) -> None:
    path = log(tmp_path, acl(1, host="a" * 250))
    first = path.read_bytes()
    broken = bytearray(batch([acl(2, host="b" * 250)], 1))
    broken[-1] ^= 1
    unknown = write_batch([Record(b"\x01\x63\x00rest"), Record(b"\x07"), Record(None)], base_offset=2)
    path.write_bytes(first + bytes(broken) + unknown + batch([acl(3, host="c" * 250)], 5))
    rows = rows_of(read_range, path)
    assert sightings(rows) == [("acl_host", "a" * 250), ("acl_host", "c" * 250)]
    assert totals(rows) == {
        ("judged", ""): 2,
        ("malformed", "wrong checksum"): 1,
        ("ignored", "unknown record type 99 version 0"): 1,
        ("malformed", "record that is not what its type says"): 2,
    }
    assert [row["line"] for row in rows if row.get("reason") == "wrong checksum"] == [len(first)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/d/__cluster_metadata-0/00000000000000000000.log", True),
        ("/d/__cluster_metadata-0/00000000000000000044-0000000001.checkpoint", True),
        ("/d/elsewhere/00000000000000000044-0000000001.checkpoint", True),
        ("/d/orders-0/00000000000000000000.log", False),
        ("/d/__cluster_metadata-0/00000000000000000000.index", False),
        ("/d/__cluster_metadata-0/quorum-state", False),
        ("/d/bootstrap.checkpoint", False),
    ],
)
def test_recognises_the_files_of_a_metadata_log(path: str, expected: bool) -> None:
    assert recognise(path, b"") is expected


def test_reads_the_log_that_a_real_kafka_wrote(tmp_path: Path) -> None:
    shutil.copytree(VECTOR, tmp_path / "data")
    directory = tmp_path / "data" / "__cluster_metadata-0"
    rows = rows_of_files(read_range, list(directory.iterdir()))
    assert {outcome for outcome, _ in totals(rows)} == {"judged", "ignored"}
    state = load_state(files_of(map(str, directory.iterdir())))
    assert {name for name, _ in state.topics.values()} == {"orders"}
    assert state.brokers[1].static is None
    assert state.configs.keys() == {(TYPE_TOPIC, "orders"), *[key for key in state.configs if key[0] != TYPE_TOPIC]}
    (unjudged,) = (row for row in rows if row["entry"] == "sighting")
    assert (unjudged["value"], unjudged["outcome"]) == ("broker default: log.cleaner.threads=2", "could_not_judge")


def test_tells_the_judge_of_changes_which_configs_are_in_force(tmp_path: Path) -> None:
    messages = (
        broker(num_io_threads="8"),
        config("", "num.io.threads", "12"),
        config("t", "retention.ms", "5", TYPE_TOPIC),
    )
    work = ByteRange(str(log(tmp_path, *messages)), 0, 1)
    known = known_configs(None, [work], ReadOptions(brokers={"2": {"process.roles": "controller"}}))
    assert known.brokers == {1: {"num.io.threads": "8"}, 2: {"process.roles": "controller"}}
    assert known.controller == {"process.roles": "controller"}
    assert known.dynamic == {(TYPE_BROKER, ""): {"num.io.threads": "12"}, (TYPE_TOPIC, "t"): {"retention.ms": "5"}}
    assert known_configs(None, [], ReadOptions()).dynamic is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("00000000000000000000.index", True),
        ("00000000000000000042.snapshot", True),
        ("00000000000000000044-0000000001.checkpoint.part", True),
        ("leader-epoch-checkpoint", True),
        ("bootstrap.checkpoint", True),
        ("meta.properties", True),
        (".lock", True),
        ("00000000000000000000.log", False),
        ("server.log", False),
        ("notes.txt", False),
    ],
)
def test_knows_the_files_that_kafka_keeps_beside_its_logs(name: str, expected: bool) -> None:
    assert is_companion(f"/data/orders-0/{name}") is expected
