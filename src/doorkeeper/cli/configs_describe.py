"""`doorkeeper configs --describe`: Kafka's lines, or one JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cli.configs_options import (
    BROKER_LOGGERS,
    BROKERS,
    CLIENT_METRICS,
    CLIENTS,
    IPS,
    TOPICS,
    USERS,
    ConfigsOptions,
)
from doorkeeper.cli.configs_resources import dynamic_source, to_quota_filters, to_resource
from doorkeeper.client.errors import ClusterAuthorizationError, KafkaError, UnsupportedVersionError
from doorkeeper.rules.client_id import DEFAULT, DefaultEntity, QuotaEntity
from doorkeeper.rules.config_request import ResourceType
from doorkeeper.rules.javatext import format_double

if TYPE_CHECKING:
    from doorkeeper.client import Admin, ConfigResource, DescribedConfig, ScramCredentialInfo

JSON_VERSION: Final = 1
_LABELS: Final = (("user", "user-principal"), ("client_id", "client-id"), ("ip", "ip"))


class Description:
    """What was found, for people and for programs."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.document: dict[str, Any] = {"version": JSON_VERSION}


async def describe(admin: Admin, options: ConfigsOptions) -> Description:
    """Describe whatever entity the options name."""
    if options.entity_types[0] in (USERS, CLIENTS, IPS):
        return await _describe_quotas(admin, options)
    return await _describe_resources(admin, options)


async def _describe_resources(admin: Admin, options: ConfigsOptions) -> Description:
    found = Description()
    found.document["resources"] = []
    entity_type = options.entity_types[0]
    name = options.entity_names[0] if options.entity_names else None
    if name is not None and not options.all and not await _exists(admin, entity_type, name):
        found.lines.append(f"The {entity_type[:-1]} '{name}' doesn't exist and doesn't have dynamic config.")
        return found
    names = [name] if name is not None else await _names(admin, entity_type)
    for each in names:
        resource = to_resource(entity_type, each)
        described = (await admin.describe_configs([resource], include_synonyms=True))[resource]
        source = None if options.all else dynamic_source(resource, entity_type)
        configs = sorted(
            (one for one in described if source is None or one.source is source),
            key=lambda one: one.name.encode("utf-16-be"),
        )
        found.lines.append(_heading(entity_type, each, all_=options.all))
        found.lines += [_config_line(one) for one in configs]
        found.document["resources"].append(_to_json(resource, configs))
    return found


def _heading(entity_type: str, name: str, *, all_: bool) -> str:
    if not name:
        return f"Default configs for {entity_type} in the cluster are:"
    return f"{'All' if all_ else 'Dynamic'} configs for {entity_type[:-1]} {name} are:"


def _config_line(config: DescribedConfig) -> str:
    synonyms = ", ".join(f"{one.source.name}:{one.name}={_text(one.value)}" for one in config.synonyms)
    sensitive = str(config.is_sensitive).lower()
    return f"  {config.name}={_text(config.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _to_json(resource: ConfigResource, configs: list[DescribedConfig]) -> dict[str, Any]:
    return {
        "type": resource.type.name.lower().replace("_", "-"),
        "name": resource.name,
        "configs": [
            {
                "name": one.name,
                "value": one.value,
                "source": one.source.name,
                "sensitive": one.is_sensitive,
                "read_only": one.is_read_only,
                "type": one.type.name,
                "synonyms": [{"name": it.name, "value": it.value, "source": it.source.name} for it in one.synonyms],
            }
            for one in configs
        ],
    }


async def _exists(admin: Admin, entity_type: str, name: str) -> bool:
    if entity_type == TOPICS:
        to_resource(entity_type, name)
        return name in await admin.list_topics(include_internal=True)
    if entity_type in (BROKERS, BROKER_LOGGERS):
        return name == "" or name in {str(node.id) for node in (await admin.describe_cluster()).nodes}
    if entity_type == CLIENT_METRICS:
        return name in await _listed(admin, ResourceType.CLIENT_METRICS)
    if name in {group.group_id for group in await admin.list_groups()}:
        return True
    configured = await _configured_groups(admin)
    return configured is None or name in configured


async def _names(admin: Admin, entity_type: str) -> list[str]:
    """Every entity of a type, the default one of the brokers last."""
    if entity_type == TOPICS:
        return sorted(await admin.list_topics(include_internal=True))
    if entity_type in (BROKERS, BROKER_LOGGERS):
        return [*(str(node.id) for node in (await admin.describe_cluster()).nodes), ""]
    if entity_type == CLIENT_METRICS:
        return await _listed(admin, ResourceType.CLIENT_METRICS)
    groups = {group.group_id for group in await admin.list_groups()}
    return sorted(groups.union(await _configured_groups(admin) or ()))


async def _listed(admin: Admin, resource_type: ResourceType) -> list[str]:
    return [resource.name for resource in await admin.list_config_resources([resource_type])]


async def _configured_groups(admin: Admin) -> list[str] | None:
    """The groups that have configs; None where the cluster can't or won't tell (KIP-1142)."""
    try:
        return await _listed(admin, ResourceType.GROUP)
    except (UnsupportedVersionError, ClusterAuthorizationError):
        return None


async def _describe_quotas(admin: Admin, options: ConfigsOptions) -> Description:
    found = Description()
    filters = to_quota_filters(options.entity_types, options.entity_names)
    quotas = await admin.describe_client_quotas(filters, strict=True)
    found.lines += [f"Quota configs for {entity_text(one)} are {_quota_text(values)}" for one, values in quotas.items()]
    found.document["quotas"] = [{"entity": entity_json(one), "quotas": values} for one, values in quotas.items()]
    if options.entity_types[0] != IPS and CLIENTS not in options.entity_types and "" not in options.entity_names:
        await _describe_credentials(admin, options.entity_names, found)
    return found


async def _describe_credentials(admin: Admin, users: tuple[str, ...], found: Description) -> None:
    found.document["scram_credentials"] = []
    described = await admin.describe_user_scram_credentials(users)
    for user in described:
        if user in described.errors:
            line = _credentials_error(user, described.errors[user])
            if line is not None:
                found.lines.append(line)
            continue
        infos = described[user]
        found.lines.append(f"SCRAM credential configs for user-principal '{user}' are {_credentials_text(infos)}")
        found.document["scram_credentials"].append(
            {
                "user": user,
                "credentials": [
                    {"mechanism": it.mechanism.mechanism_name, "iterations": it.iterations} for it in infos
                ],
            }
        )


def _credentials_error(user: str, error: KafkaError) -> str | None:
    """A user without credentials is no news (DescribeUserScramCredentialsResult.users)."""
    if error.name == "RESOURCE_NOT_FOUND":
        return None
    return f"Error retrieving SCRAM credential configs for user-principal '{user}': {error.java_name}: {error.message}"


def _credentials_text(infos: tuple[ScramCredentialInfo, ...]) -> str:
    return ", ".join(f"{one.mechanism.mechanism_name}=iterations={one.iterations}" for one in infos)


def entity_text(entity: QuotaEntity) -> str:
    """An entity in the words of Kafka's tool."""
    return ", ".join(
        f"the default {label}" if name is DEFAULT else f"{label} '{name}'" for label, name in _components(entity)
    )


def entity_json(entity: QuotaEntity) -> dict[str, str | None]:
    """An entity as in quota files: null is the default one."""
    return {
        label.removesuffix("-principal"): None if name is DEFAULT else str(name) for label, name in _components(entity)
    }


def _components(entity: QuotaEntity) -> Iterator[tuple[str, str | DefaultEntity]]:
    for attribute, label in _LABELS:
        name = getattr(entity, attribute)
        if name is not None:
            yield label, name


def _quota_text(values: dict[str, float]) -> str:
    return ", ".join(f"{key}={format_double(values[key])}" for key in java_map_order(list(values)))


def java_map_order(keys: list[str]) -> list[str]:
    """The keys in the order of a Java HashMap made for that many: the order in which Kafka's tool prints quotas."""
    buckets = 1
    while buckets * 0.75 < len(keys):
        buckets *= 2
    return sorted(keys, key=lambda key: _java_hash(key) & (buckets - 1))


def _java_hash(text: str) -> int:
    """String.hashCode, spread as HashMap does."""
    units = text.encode("utf-16-be")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return value ^ (value >> 16)
