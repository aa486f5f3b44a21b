"""What a decoded request adds to the tally: identifiers that may break a rule, config changes, callers.

One function for the fast kernel and for `--strict`: both count the same things, they differ in which lines get here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from doorkeeper.audit.config_changes import CHANGE_APIS, changes_in
from doorkeeper.audit.requests.identifiers import Found, api_names, find_identifiers
from doorkeeper.audit.requests.lines import Request
from doorkeeper.audit.sightings import Sighting, Tally, door_of, is_utf8
from doorkeeper.rules.client_id import desanitize, is_plain
from doorkeeper.rules.fields import load_apis
from doorkeeper.rules.javatext import utf16_length
from doorkeeper.rules.names import LIMITS
from doorkeeper.rules.verdict import Kind, RuleId

CLIENT_ID_FIELD: Final = "header.clientId"
CONFIGS_FIELD: Final = "resources[].configs[]"


def api_of(api_key: int, name: str = "") -> str:
    """The API's name as the log writes it, also for a key that this release does not know."""
    return api_names().get(api_key) or name or f"API_{api_key}"


@cache
def door_of_api(api_key: int) -> str:
    """The doors that judge an API."""
    api = load_apis().get(api_key)
    return door_of(() if api is None else api.listeners)


@cache
def first_version(api_key: int) -> int:
    """The oldest version that Kafka 4 serves; 0 for an API that is not known.

    ApiVersions and SaslHandshake are asked by every old client at their oldest version, and serve it.
    """
    api = load_apis().get(api_key)
    return 0 if api is None else api.first_version


def note_request(tally: Tally, request: Request, line: int) -> None:
    """Count what a decoded request holds; its caller is counted by who counts lines."""
    document = request.document
    header = document.requestHeader
    information = document.clientInformation
    seen = Sighting(
        kind=Kind.CLIENT_ID,
        value=header.clientId or "",
        where=CLIENT_ID_FIELD,
        door=door_of_api(header.requestApiKey),
        api=api_of(header.requestApiKey, header.requestApiKeyName),
        api_version=header.requestApiVersion,
        client_id=header.clientId,
        principal=document.principal,
        address=request.address,
        listener=document.listener,
        software_name=None if information is None else information.softwareName,
        software_version=None if information is None else information.softwareVersion,
        forwarded=document.isForwarded,
    )
    for sighting in _sightings(seen, header.requestApiKey, request):
        tally.add(sighting, line, time=request.time)


def _sightings(seen: Sighting, api_key: int, request: Request) -> Iterator[Sighting]:
    client_id = seen.value
    if not is_plain(client_id) or utf16_length(client_id) > LIMITS[Kind.CLIENT_ID].limit:
        yield seen
    assert seen.api_version is not None
    if seen.api_version < first_version(api_key):
        yield seen._replace(rule=RuleId.API_VERSION_REMOVED.value)
    for found in find_identifiers(api_key, request.document.request):
        if may_matter(found):
            yield seen._replace(kind=found.kind, value=found.value, where=found.where, **_prejudged(found))
    if api_key in CHANGE_APIS:
        for change in changes_in(api_key, request.document.request):
            yield seen._replace(
                kind=Kind.CONFIG_CHANGE, value=change.to_text(), where=CONFIGS_FIELD, detail=change.to_detail()
            )


def may_matter(found: Found) -> bool:
    """Whether an identifier breaks a rule or will be told: only these are sightings, whoever decoded the line."""
    if utf16_length(found.value) > found.limit.limit or not is_utf8(found.value):
        return True
    return found.kind is Kind.QUOTA_ENTITY and is_encoded_already(found)


def is_encoded_already(found: Found) -> bool:
    """Whether a quota's client id or user looks URL-encoded, so that it would be stored encoded twice."""
    if "%" not in found.value or found.limit.kind not in (Kind.CLIENT_ID, Kind.RESOURCE_NAME):
        return False
    try:
        return desanitize(found.value) != found.value
    except ValueError:
        return False


def _prejudged(found: Found) -> dict[str, Any]:
    """A quota entity is judged by its type, which no table carries: so here."""
    if found.kind is not Kind.QUOTA_ENTITY or not is_utf8(found.value):
        return {}
    if utf16_length(found.value) <= found.limit.limit:
        return {"rule": RuleId.QUOTA_ENTITY_ENCODED_TWICE.value}
    new, old = int(found.limit.code), int(found.limit.code_old)
    return {"rule": found.limit.rule.value, "limit": found.limit.limit, "answer_new": new, "answer_old": old}
