"""Config changes at both doors: the common part of IncrementalAlterConfigs and AlterConfigs (KAFKA-19931).

A broker judges what concerns brokers and loggers itself and sends the rest on; the controller judges everything, what
was judged before included: the same function, another door. From ConfigAdminManager and ControllerApis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.config_changes import (
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    changes_of,
    config_context,
    decide_alter_configs,
)
from doorkeeper.cluster.controller.controller_node import ControllerNode
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.rules.config_change import BrokerDoor, ResourceChange, ResourceType, judge_changes

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.controller_role import ControllerRole

CONTROLLERS_ALONE: Final = frozenset((ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS))
"""What a broker does not look at: these are judged by the controller's configs on either path."""


async def at_broker(broker: BrokerRole, call: Call, *, legacy: bool) -> Any:
    """Judge at the broker's door, apply logger levels, send the rest on, and answer in the order of the request."""
    changes = changes_of(call.body.resources, legacy=legacy)
    answers = _judged_here(broker, changes, validate_only=call.body.validate_only)
    remaining = [index for index, answer in enumerate(answers) if answer is None]
    if remaining:
        body = replace(call.body, resources=tuple(call.body.resources[index] for index in remaining))
        response = await broker.forwarder.forward_body(call, body)
        for place, index in enumerate(remaining):
            change = changes[index]
            if response is None:
                answers[index] = _result(change, ErrorCode.unknown_server_error, None)
            else:
                one = response.responses[place]
                answers[index] = _result(change, one.error_code, one.error_message)
    return call.reshaped(AlterConfigsResponse(tuple(one for one in answers if one is not None)))


def _judged_here(
    broker: BrokerRole, changes: Sequence[ResourceChange], *, validate_only: bool
) -> list[AlterConfigsResourceResponse | None]:
    """The answers that this broker gives itself; None where the controller is to answer."""
    own = [change for change in changes if change.type not in CONTROLLERS_ALONE]
    if not own:
        return [None] * len(changes)
    static = broker.config.static
    context = config_context(
        broker.image,
        ControllerNode(broker.node_id, static),
        door=BrokerDoor(broker.node_id),
        remembered={broker.node_id: static},
        loggers=broker.loggers,
    )
    verdicts = {id(change): verdict for change, verdict in zip(own, judge_changes(own, context), strict=True)}
    answers: list[AlterConfigsResourceResponse | None] = []
    for change in changes:
        verdict = verdicts.get(id(change))
        if verdict is None or (verdict.accepted and change.type != ResourceType.BROKER_LOGGER):
            answers.append(None)
            continue
        if verdict.accepted and not validate_only:
            broker.loggers.apply(change.entries)
        answers.append(_result(change, int(verdict.code), verdict.message))
    return answers


def _result(change: ResourceChange, code: int, message: str | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(code, message, change.type, change.name)


async def at_controller(controller: ControllerRole, call: Call, *, legacy: bool) -> Any:
    """Judge at the controller's door with the static configs of the brokers concerned, and store."""
    changes = changes_of(call.body.resources, legacy=legacy)
    validate_only = call.body.validate_only
    response = await controller.decide(
        lambda image: decide_alter_configs(
            image,
            changes,
            config_context(
                image, controller.node, remembered=controller.remembered_configs, loggers=controller.loggers
            ),
            validate_only=validate_only,
        )
    )
    for change, answer in zip(changes, response.responses, strict=True):
        if change.type == ResourceType.BROKER_LOGGER and not answer.error_code and not validate_only:
            controller.loggers.apply(change.entries)
    return call.reshaped(response)
