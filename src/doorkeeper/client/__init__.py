"""A small typed admin client, public API.

`Admin` asks a cluster; every refusal is an exception of its own (`doorkeeper.client.errors`); a call about many things
returns `Results`, a value or an error for each. Imports `net`, `wire` and `rules`; used by `cli` and by tests.
"""

from doorkeeper.client.acls import AclBinding, AclFilter
from doorkeeper.client.admin import Admin
from doorkeeper.client.cluster import ClusterDescription, QuorumDescription, UpgradeType
from doorkeeper.client.configs import (
    AlterConfigOp,
    ConfigResource,
    ConfigSource,
    ConfigSynonym,
    ConfigValueType,
    DescribedConfig,
)
from doorkeeper.client.errors import KafkaError, ResourceIdentifierTooLargeError
from doorkeeper.client.quotas import QuotaFilter
from doorkeeper.client.results import Results
from doorkeeper.client.router import Node
from doorkeeper.client.scram import ScramCredentialInfo, ScramDeletion, ScramMechanism, ScramUpsertion
from doorkeeper.client.settings import ClientSettings, SaslCredentials, read_settings
from doorkeeper.client.topics import CreatedTopic, GroupListing, NewTopic, PartitionDescription, TopicDescription
from doorkeeper.rules.client_id import DEFAULT, QuotaEntity
from doorkeeper.rules.config_request import Operation, ResourceType
from doorkeeper.wire.acls import AclOperation, AclPermission, AclResourceType, PatternType

__all__ = [
    "DEFAULT",
    "AclBinding",
    "AclFilter",
    "AclOperation",
    "AclPermission",
    "AclResourceType",
    "Admin",
    "AlterConfigOp",
    "ClientSettings",
    "ClusterDescription",
    "ConfigResource",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigValueType",
    "CreatedTopic",
    "DescribedConfig",
    "GroupListing",
    "KafkaError",
    "NewTopic",
    "Node",
    "Operation",
    "PartitionDescription",
    "PatternType",
    "QuorumDescription",
    "QuotaEntity",
    "QuotaFilter",
    "ResourceIdentifierTooLargeError",
    "ResourceType",
    "Results",
    "SaslCredentials",
    "ScramCredentialInfo",
    "ScramDeletion",
    "ScramMechanism",
    "ScramUpsertion",
    "TopicDescription",
    "UpgradeType",
    "read_settings",
]
