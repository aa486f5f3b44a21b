"""Where an error goes in the response of each API: data, one row per API and shape.

An API whose response has a top-level `error_code` needs no row. Of the others (and of those that have one in some
versions only) a row says which array of the response mirrors which array of the request; it counts for the versions
whose classes have these fields. Taken from the `getErrorResponse` methods in org.apache.kafka.common.requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

ITSELF: Final = ""
"""As the source of a copied field: the request's element itself (an array of strings or numbers)."""


class Mirror(NamedTuple):
    """Each element of a request's array gets an element in an array of the response."""

    response: str
    request: str
    """Dots descend into nested arrays, `+` joins two arrays."""
    copied: tuple[tuple[str, str], ...]
    """(field of the response's element, field of the request's element); pairs that a version lacks are left out."""
    inner: Mirror | None = None
    """Where the elements carry no code themselves."""
    last_version: int | None = None
    """Where Kafka mirrors up to a version only."""


_NAME: Final = (("name", "name"), ("topic_id", "topic_id"))
_INDEX: Final = (("partition_index", "partition_index"),)
_INDEX_ITSELF: Final = (("partition_index", ITSELF),)
_TOPICS_BY_PARTITION: Final = Mirror("topics", "topics", _NAME, Mirror("partitions", "partitions", _INDEX))
_GROUPS_BY_ID: Final = Mirror("groups", "group_ids", (("group_id", ITSELF),))
_RESOURCE: Final = (("resource_type", "resource_type"), ("resource_name", "resource_name"))
_SHARE_STATE: Final = Mirror(
    "results", "topics", (("topic_id", "topic_id"),), Mirror("partitions", "partitions", (("partition", "partition"),))
)

MIRRORS: Final[Mapping[int, tuple[Mirror, ...]]] = MappingProxyType(
    {
        0: (
            Mirror(
                "responses",
                "topic_data",
                _NAME,
                Mirror("partition_responses", "partition_data", (("index", "index"),)),
            ),
        ),
        1: (
            Mirror(
                "responses",
                "topics",
                (("topic", "topic"),),
                Mirror("partitions", "partitions", (("partition_index", "partition"),)),
                last_version=12,
            ),
        ),
        2: (_TOPICS_BY_PARTITION,),
        3: (Mirror("topics", "topics", _NAME),),
        8: (_TOPICS_BY_PARTITION,),
        9: (
            Mirror("groups", "groups", (("group_id", "group_id"),)),
            Mirror("topics", "topics", _NAME, Mirror("partitions", "partition_indexes", _INDEX_ITSELF), last_version=1),
        ),
        10: (Mirror("coordinators", "coordinator_keys", (("key", ITSELF),)),),
        15: (Mirror("groups", "groups", (("group_id", ITSELF),)),),
        19: (Mirror("topics", "topics", (("name", "name"),)),),
        20: (Mirror("responses", "topics", _NAME), Mirror("responses", "topic_names", (("name", ITSELF),))),
        21: (_TOPICS_BY_PARTITION,),
        23: (
            Mirror(
                "topics",
                "topics",
                (("topic", "topic"),),
                Mirror("partitions", "partitions", (("partition", "partition"),)),
            ),
        ),
        24: (
            Mirror(
                "results_by_topic_v3_and_below",
                "v3_and_below_topics",
                _NAME,
                Mirror("results_by_partition", "partitions", _INDEX_ITSELF),
            ),
        ),
        27: (
            Mirror(
                "markers",
                "markers",
                (("producer_id", "producer_id"),),
                Mirror("topics", "topics", _NAME, Mirror("partitions", "partition_indexes", _INDEX_ITSELF)),
            ),
        ),
        28: (_TOPICS_BY_PARTITION,),
        30: (Mirror("results", "creations", ()),),
        31: (Mirror("filter_results", "filters", ()),),
        32: (Mirror("results", "resources", _RESOURCE),),
        33: (Mirror("responses", "resources", _RESOURCE),),
        34: (
            Mirror(
                "results",
                "dirs.topics",
                (("topic_name", "name"),),
                Mirror("partitions", "partitions", _INDEX_ITSELF),
            ),
        ),
        37: (Mirror("results", "topics", (("name", "name"),)),),
        42: (Mirror("results", "groups_names", (("group_id", ITSELF),)),),
        43: (
            Mirror(
                "replica_election_results",
                "topic_partitions",
                (("topic", "topic"),),
                Mirror("partition_result", "partitions", (("partition_id", ITSELF),)),
            ),
        ),
        44: (Mirror("responses", "resources", _RESOURCE),),
        49: (Mirror("entries", "entries", (("entity", "entity"),)),),
        51: (Mirror("results", "deletions+upsertions", (("user", "name"),)),),
        61: (Mirror("topics", "topics", _NAME, Mirror("partitions", "partition_indexes", _INDEX_ITSELF)),),
        65: (Mirror("transaction_states", "transactional_ids", (("transactional_id", ITSELF),)),),
        69: (_GROUPS_BY_ID,),
        75: (Mirror("topics", "topics", (("name", "name"),)),),
        77: (_GROUPS_BY_ID,),
        83: (_SHARE_STATE,),
        84: (_SHARE_STATE,),
        85: (_SHARE_STATE,),
        86: (_SHARE_STATE,),
        87: (_SHARE_STATE,),
        89: (_GROUPS_BY_ID,),
        90: (Mirror("groups", "groups", (("group_id", "group_id"),)),),
    }
)

ERROR_CODE_FIELDS: Final = frozenset({"error_code", "partition_error_code"})

UNKNOWN_NUMBERS: Final[Mapping[str, int]] = MappingProxyType(
    dict.fromkeys(
        (
            "base_offset",
            "committed_offset",
            "controller_id",
            "end_offset",
            "generation_id",
            "high_watermark",
            "leader_epoch",
            "leader_id",
            "log_start_offset",
            "low_watermark",
            "node_id",
            "offset",
            "port",
            "producer_epoch",
            "producer_id",
            "start_offset",
            "timestamp",
        ),
        -1,
    )
)
"""Numbers that say "none" in an error response, where the schema has no default of its own."""
