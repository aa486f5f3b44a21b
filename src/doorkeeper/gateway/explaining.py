"""What the gateway does with every version of every API, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from doorkeeper.door.judged import Keeper, judged_fields
from doorkeeper.errors import InputError
from doorkeeper.gateway.address_table import Place, address_row
from doorkeeper.gateway.modes import Modes
from doorkeeper.gateway.plans import CONFIG_CHANGES, Plans, Treatment, judged_kinds, treatments
from doorkeeper.rules.fields import identifier_version
from doorkeeper.wire.messages import (
    API_KEYS,
    API_VERSIONS,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    api_name,
    newest_version,
    oldest_version,
)
from doorkeeper.wire.registry import ADVERTISED_FROM


class Explanation(NamedTuple):
    """One range of versions of one API that are treated alike."""

    api: str
    api_key: int
    first: int
    last: int
    treatments: tuple[Treatment, ...]
    why: str


def explain_all(modes: Modes, *, unstable_versions: bool = False, only: Sequence[str] = ()) -> list[Explanation]:
    """Every API by key, in ranges of versions that are treated alike.

    :raises InputError: for an API in `only` that there is not.
    """
    plans = Plans(modes, unstable_versions=unstable_versions)
    return [row for api_key in _asked(only) for row in _explain(api_key, plans)]


def _asked(only: Sequence[str]) -> list[int]:
    if not only:
        return sorted(API_KEYS)
    by_name = {api_name(key).replace("_", ""): key for key in API_KEYS} | {str(key): key for key in API_KEYS}
    keys = []
    for name in only:
        key = by_name.get(name.upper().replace("_", ""))
        if key is None:
            raise InputError(f"there is no API {name!r}")
        keys.append(key)
    return keys


def _explain(api_key: int, plans: Plans) -> Iterator[Explanation]:
    newest = max(newest_version(api_key), identifier_version(api_key) or 0)
    versions = range(ADVERTISED_FROM.get(api_key, oldest_version(api_key)), newest + 1)
    for (words, why), group in groupby(versions, key=partial(_explain_version, api_key, plans)):
        alike = list(group)
        yield Explanation(api_name(api_key), api_key, alike[0], alike[-1], words, why)


def _explain_version(api_key: int, plans: Plans, version: int) -> tuple[tuple[Treatment, ...], str]:
    if not plans.knows(api_key, version):
        return (Treatment.WITHDRAWN,), _why_withdrawn(api_key, version)
    reasons = [*_judged(api_key, version, plans.modes), *_rewritten(api_key, version)]
    if version > newest_version(api_key):
        reasons.append("asked upstream one version lower, where that is upstream's newest")
    if api_key in (SASL_HANDSHAKE, SASL_AUTHENTICATE):
        reasons.append("read for the principal")
    if api_key == PRODUCE:
        reasons.append("acks is read, for acks=0 gets no answer")
    return tuple(treatments(api_key, version, plans.modes)), "; ".join(reasons) or "nothing in it to judge or rewrite"


def _why_withdrawn(api_key: int, version: int) -> str:
    if api_key == PRODUCE and version < oldest_version(api_key):
        return "offered for old clients' sake, as Kafka does, and refused as Kafka does"
    if version > newest_version(api_key):
        return "KIP-1233's version: only with unstable.api.versions.enable"
    return "unstable in Kafka 4.3.1: only with unstable.api.versions.enable"


def _judged(api_key: int, version: int, modes: Modes) -> list[str]:
    kinds = set(judged_kinds(api_key, version, modes))
    fields = [
        f"{one.path} ({one.kind})"
        for one in judged_fields(api_key, version, Keeper.GATEWAY)
        if one.kind in kinds and not one.in_header
    ]
    reasons = [f"judges {', '.join(dict.fromkeys(fields))}"] if fields else []
    if api_key in CONFIG_CHANGES and modes.judges_configs:
        reasons.append("judges the change by the brokers' static configs (config_change)")
    return reasons


def _rewritten(api_key: int, version: int) -> list[str]:
    if api_key == API_VERSIONS:
        return ["answers with what both upstream and the gateway know; read for the client's software"]
    row = address_row(api_key, version)
    if row is None:
        return []
    where = f"{row.array}[]" if row.array else "the response"
    how = {Place.LAST: ", at its end alone", Place.LAST_TAG: ", at its end alone"}.get(row.place, "")
    return [f"addresses in {where}{how}"]
