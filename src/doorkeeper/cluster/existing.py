"""What exists in the cluster, as far as a node knows: over-long names among it are looked up, described and removed.

`True` and `False` are certain; `None` is what this node can't know, because another broker coordinates the group, or
because its coordinator is still loading. Then the handler answers, and says where to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.internal_topics import GROUPS, TRANSACTIONS
from doorkeeper.cluster.image.configs import ConfigResourceType
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.door.judge import Named
from doorkeeper.rules.verdict import Kind

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.groups.state import CoordinatorState

ACL_APIS: Final = frozenset((29, 31))
"""DescribeAcls and DeleteAcls: a resource name there is an ACL's; elsewhere it is a config resource's."""


def in_image(image: MetadataImage, named: Named) -> bool | None:
    """Whether the metadata has such a thing: an ACL, a quota, the configs of a resource."""
    assert named.field.kind is not None
    look = _IN_IMAGE.get(named.field.kind)
    return None if look is None else look(image, named)


def at_broker(broker: BrokerRole, named: Named) -> bool | None:
    """Whether the metadata or a coordinator of this broker has such a thing."""
    kind = named.field.kind
    if kind is Kind.GROUP_ID:
        return _group_exists(broker, named.name)
    if kind in (Kind.MEMBER_ID, Kind.GROUP_INSTANCE_ID):
        return _member_exists(broker, named)
    if kind is Kind.TRANSACTIONAL_ID:
        return _transaction_exists(broker, named.name)
    known = in_image(broker.image, named)
    if not known and _is_group_config(named):
        return _group_exists(broker, named.name)
    return known


def _resource_exists(image: MetadataImage, named: Named) -> bool:
    if named.field.api_key in ACL_APIS:
        return any(one.resource_name == named.name for one in image.acls.acls.values())
    return bool(image.configs.of(named.selected, named.name))


def _is_group_config(named: Named) -> bool:
    is_config = named.field.kind is Kind.RESOURCE_NAME and named.field.api_key not in ACL_APIS
    return is_config and bool(named.selected == ConfigResourceType.GROUP)


_IN_IMAGE: Final[Mapping[Kind, Callable[[MetadataImage, Named], bool]]] = MappingProxyType(
    {
        Kind.RESOURCE_NAME: _resource_exists,
        Kind.ACL_PRINCIPAL: lambda image, named: any(one.principal == named.name for one in image.acls.acls.values()),
        Kind.ACL_HOST: lambda image, named: any(one.host == named.name for one in image.acls.acls.values()),
        Kind.QUOTA_ENTITY: lambda image, named: any(
            (named.selected, named.name) in entity for entity in image.client_quotas.entities
        ),
    }
)


def _group_exists(broker: BrokerRole, group_id: str) -> bool | None:
    state = _groups_with(broker, group_id)
    if state is None or isinstance(state, bool):
        return state
    return group_id in state.groups or group_id in state.offsets.committed.by_group


def _member_exists(broker: BrokerRole, named: Named) -> bool | None:
    group_id = getattr(named.owner, "group_id", None) or named.body.group_id
    state = _groups_with(broker, group_id)
    if state is None or isinstance(state, bool):
        return state
    group = state.groups.get(group_id)
    if group is None:
        return False
    return named.name in (group.members if named.field.kind is Kind.MEMBER_ID else group.static_members)


def _transaction_exists(broker: BrokerRole, transactional_id: str) -> bool | None:
    if TRANSACTIONS not in broker.image.topics.by_name:
        return False
    partition = broker.data.transactions.find(transactional_id)
    if isinstance(partition, ErrorCode):
        return None
    return transactional_id in partition.coordinator.state.transactions


def _groups_with(broker: BrokerRole, group_id: str) -> CoordinatorState | bool | None:
    """What the group's coordinator holds; False while there are no groups at all, None when it can't be asked here."""
    if GROUPS not in broker.image.topics.by_name:
        return False
    partition = broker.data.groups.find(group_id)
    return None if isinstance(partition, ErrorCode) else partition.coordinator.state
