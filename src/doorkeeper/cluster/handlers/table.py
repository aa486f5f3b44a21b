"""All handlers: what each door serves, computed from their own declarations."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers import (
    allocate_producer_ids,
    alter_client_quotas,
    alter_configs,
    alter_user_scram_credentials,
    api_versions,
    broker_heartbeat,
    broker_registration,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_quorum,
    describe_topic_partitions,
    describe_user_scram_credentials,
    envelope,
    fetch,
    fetch_snapshot,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sasl_authenticate,
    sasl_handshake,
    sync_group,
    unregister_broker,
    update_features,
)
from doorkeeper.wire.registry import Door, Registry

if TYPE_CHECKING:
    from doorkeeper.cluster.door import Handler

MODULES: Final[tuple[ModuleType, ...]] = (
    allocate_producer_ids,
    alter_client_quotas,
    alter_configs,
    alter_user_scram_credentials,
    api_versions,
    broker_heartbeat,
    broker_registration,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_quorum,
    describe_topic_partitions,
    describe_user_scram_credentials,
    envelope,
    fetch,
    fetch_snapshot,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sasl_authenticate,
    sasl_handshake,
    sync_group,
    unregister_broker,
    update_features,
)
_FUNCTIONS: Final = {Door.BROKER: "at_broker", Door.CONTROLLER: "at_controller"}


def registry_for(door: Door, *, unstable_versions: bool) -> Registry:
    """The APIs and versions of a door."""
    return Registry([module.SERVED for module in MODULES], door, unstable_versions=unstable_versions)


def handlers_for(door: Door) -> Mapping[int, Handler[Any]]:
    """The function that answers each API at a door."""
    return {
        module.SERVED.api_key: getattr(module, _FUNCTIONS[door]) for module in MODULES if door in module.SERVED.doors
    }
