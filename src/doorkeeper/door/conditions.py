"""When a request only looks up or removes, so that an over-long name that exists is served all the same.

The field map says it in words (`Field.condition`, of the item that holds the name); here each of these sentences is a
predicate on the item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from doorkeeper.rules.fields import Existing, Field

DELETE: Final = 1
"""AlterConfigOp.OpType.DELETE."""


def resets_all(resource: Any) -> bool:
    """AlterConfigs replaces all of a resource's configs; with none given it removes them."""
    return not resource.configs


def deletes_only(resource: Any) -> bool:
    """Every operation of IncrementalAlterConfigs on the resource is DELETE."""
    return all(config.config_operation == DELETE for config in resource.configs)


def removes_only(entry: Any) -> bool:
    """Every operation of AlterClientQuotas on the entity is a removal."""
    return all(operation.remove for operation in entry.ops)


CONDITIONS: Final[Mapping[str, Callable[[Any], bool]]] = MappingProxyType(
    {
        "resources[].configs[] of the resource is empty": resets_all,
        "every resources[].configs[].config_operation of the resource is 1 (DELETE)": deletes_only,
        "every entries[].ops[].remove of the entry is true": removes_only,
    }
)
"""By the words of the field map."""


def serves_existing(field: Field, item: Any) -> bool:
    """Whether a name in this field is served if it exists; `item` is the element of the request's array around it."""
    if field.existing is Existing.CONDITIONAL:
        return CONDITIONS[field.condition](item)
    return field.existing is Existing.ALWAYS
