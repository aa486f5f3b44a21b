"""Server-side assignors: pure functions from members and topics to an assignment.

`contract` says what goes in and out; `uniform` and `range` are Kafka's two (`group.consumer.assignors`). None looks at
racks: nor do Kafka 4.3.1's, whose groups notice a change of racks only as a reason to assign again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from doorkeeper.cluster.groups.assignors.contract import Assignor
from doorkeeper.cluster.groups.assignors.range import assign_range
from doorkeeper.cluster.groups.assignors.uniform import assign_uniform

ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}
