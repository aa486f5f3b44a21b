"""`doorkeeper configs --alter`: set and delete configs, quotas and SCRAM credentials, as Kafka's tool does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cli.configs_describe import JSON_VERSION, Description, entity_json
from doorkeeper.cli.configs_options import BROKER_LOGGERS, CLIENTS, IPS, USERS, ConfigsOptions, RefusedError
from doorkeeper.cli.configs_resources import RESOURCE_TYPES, to_quota_entity, to_quota_filters
from doorkeeper.client import AlterConfigOp, ConfigResource, Operation, ScramDeletion, ScramMechanism, ScramUpsertion
from doorkeeper.client.errors import UnsupportedVersionError
from doorkeeper.rules.javatext import parse_double

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from doorkeeper.client import Admin

QUOTAS: Final = frozenset(
    {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
)
IP_QUOTAS: Final = frozenset({"connection_creation_rate"})
DEFAULT_ITERATIONS: Final = 4096
MIN_ITERATIONS: Final = 4096
_CREDENTIAL: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")
_OLD_CLUSTER: Final = (
    "The INCREMENTAL_ALTER_CONFIGS API is not supported by the cluster. The API is supported starting from version "
    "2.3.0. You may want to use an older version of this tool to interact with your cluster, or upgrade your brokers "
    "to version 2.3.0 or newer to avoid this error."
)


async def alter(admin: Admin, options: ConfigsOptions) -> Description:
    """Make the change (or with `--dry-run` have it judged), and say so."""
    entity_type = options.entity_types[0]
    if entity_type in (USERS, CLIENTS):
        await _alter_clients(admin, options)
    elif entity_type == IPS:
        await _alter_addresses(admin, options)
    else:
        await _alter_resource(admin, options)
    return _report(options)


def _report(options: ConfigsOptions) -> Description:
    entity_type, name = options.entity_types[0], options.entity_names[0]
    report = Description()
    if options.dry_run:
        what = f"config for {entity_type[:-1]} {name}" if name else f"default config for {entity_type} in the cluster"
        report.lines.append(f"Validated {what}; nothing was changed.")
    elif name:
        report.lines.append(f"Completed updating config for {entity_type[:-1]} {name}.")
    else:
        report.lines.append(f"Completed updating default config for {entity_type} in the cluster.")
    report.document = {
        "version": JSON_VERSION,
        "result": "validated" if options.dry_run else "completed",
        "entity": _entity(options),
        "set": sorted(options.add),
        "deleted": sorted(options.delete),
    }
    return report


def _entity(options: ConfigsOptions) -> dict[str, Any]:
    entity_type = options.entity_types[0]
    if entity_type in (USERS, CLIENTS, IPS):
        return entity_json(to_quota_entity(options.entity_types, options.entity_names))
    return {"type": RESOURCE_TYPES[entity_type].name.lower().replace("_", "-"), "name": options.entity_names[0]}


async def _alter_resource(admin: Admin, options: ConfigsOptions) -> None:
    entity_type, name = options.entity_types[0], options.entity_names[0]
    resource = ConfigResource(RESOURCE_TYPES[entity_type], name)
    if entity_type == BROKER_LOGGERS:
        await _require_loggers(admin, resource, [*options.delete, *options.add])
    ops = [AlterConfigOp(key, "", Operation.DELETE) for key in options.delete]
    ops += [AlterConfigOp(key, value) for key, value in options.add.items()]
    try:
        answer = await admin.incremental_alter_configs({resource: ops}, validate_only=options.dry_run)
    except UnsupportedVersionError as error:
        raise RefusedError(_OLD_CLUSTER) from error
    answer.require()


async def _require_loggers(admin: Admin, resource: ConfigResource, names: Iterable[str]) -> None:
    described = (await admin.describe_configs([resource]))[resource]
    known = {one.name for one in described}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise RefusedError(f"Invalid broker logger(s): {','.join(unknown)}")


async def _alter_addresses(admin: Admin, options: ConfigsOptions) -> None:
    unknown = [key for key in [*options.add, *options.delete] if key not in IP_QUOTAS]
    if unknown:
        raise RefusedError(
            f"Only connection quota configs can be added for '{IPS}' using --bootstrap-server. "
            f"Unexpected config names: {','.join(unknown)}"
        )
    await _alter_quotas(admin, options)


async def _alter_clients(admin: Admin, options: ConfigsOptions) -> None:
    with_quotas = not QUOTAS.isdisjoint([*options.add, *options.delete])
    if options.entity_types[0] == CLIENTS or len(options.entity_types) == 2:
        _require_only(options, f"Only quota configs can be {{}} for '{CLIENTS}'", QUOTAS)
    else:
        credentials = frozenset(key for key in [*options.add, *options.delete] if ScramMechanism.from_name(key))
        _require_only(
            options, f"Only quota and SCRAM credential configs can be {{}} for '{USERS}'", QUOTAS | credentials
        )
        if credentials:
            _require_credentials_alone(options, with_quotas=with_quotas)
    if with_quotas:
        await _alter_quotas(admin, options)
    else:
        await _alter_credentials(admin, options)


def _require_only(options: ConfigsOptions, sentence: str, allowed: frozenset[str]) -> None:
    """Refuse other keys, in the words of Kafka's tool, the names of Scala's collections included."""
    added = [key for key in options.add if key not in allowed]
    deleted = [key for key in options.delete if key not in allowed]
    tail = "using --bootstrap-server. Unexpected config names:"
    if added:
        raise RefusedError(f"{sentence.format('added')} {tail} Set({', '.join(added)})")
    if deleted:
        raise RefusedError(f"{sentence.format('deleted')} {tail} ArrayBuffer({', '.join(deleted)})")


def _require_credentials_alone(options: ConfigsOptions, *, with_quotas: bool) -> None:
    if "" in options.entity_names:
        raise RefusedError(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials "
            "using --bootstrap-server."
        )
    if with_quotas:
        raise RefusedError(
            f"Cannot alter both quota and SCRAM credential configs simultaneously for '{USERS}' "
            "using --bootstrap-server."
        )
    if options.dry_run:
        raise RefusedError(
            "--dry-run is not possible for SCRAM credentials: Kafka's protocol can't validate them only."
        )


async def _alter_quotas(admin: Admin, options: ConfigsOptions) -> None:
    filters = to_quota_filters(options.entity_types, options.entity_names)
    entity = to_quota_entity(options.entity_types, options.entity_names)
    present = (await admin.describe_client_quotas(filters, strict=True)).get(entity, {})
    missing = [key for key in options.delete if key not in present]
    if missing:
        raise RefusedError(f"Invalid config(s): {','.join(missing)}")
    quotas: dict[str, float | None] = {**_numbers(options.add), **dict.fromkeys(options.delete)}
    (await admin.alter_client_quotas({entity: quotas}, validate_only=options.dry_run)).require()


def _numbers(configs: Mapping[str, str]) -> dict[str, float]:
    numbers = {}
    for key, text in configs.items():
        number = parse_double(text)
        if number is None:
            raise RefusedError(f"Cannot parse quota configuration value for {key}: {text}")
        numbers[key] = number
    return numbers


async def _alter_credentials(admin: Admin, options: ConfigsOptions) -> None:
    user = options.entity_names[0]
    alterations: list[ScramUpsertion | ScramDeletion] = [
        ScramDeletion(user, _mechanism(name)) for name in options.delete
    ]
    for name, text in options.add.items():
        iterations, password = _read_credential(name, text)
        alterations.append(ScramUpsertion(user, _mechanism(name), password.encode(), iterations))
    (await admin.alter_user_scram_credentials(alterations)).require()


def _mechanism(name: str) -> ScramMechanism:
    mechanism = ScramMechanism.from_name(name)
    assert mechanism is not None
    return mechanism


def _read_credential(mechanism: str, text: str) -> tuple[int, str]:
    """`iterations=8192,password=secret`; the text is never repeated, for it has the password."""
    found = _CREDENTIAL.fullmatch(text)
    if found is None:
        raise RefusedError(f"Invalid credential property {mechanism.replace('-', '_')}=[hidden]")
    given = found[1]
    if given == "":
        raise RefusedError(f"Invalid credential property {mechanism.replace('-', '_')}: iterations is empty")
    iterations = DEFAULT_ITERATIONS if given in (None, "-1") else int(given)
    if iterations < MIN_ITERATIONS:
        raise RefusedError(
            f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS} required for {mechanism}"
        )
    return iterations, found[2]
