"""Admin: all the calls in one object, over one set of connections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from doorkeeper.client.acls import AclsApi
from doorkeeper.client.cluster import ClusterApi
from doorkeeper.client.configs import ConfigsApi
from doorkeeper.client.messages import require_string_fits
from doorkeeper.client.quotas import QuotasApi
from doorkeeper.client.router import Router
from doorkeeper.client.scram import ScramApi
from doorkeeper.client.settings import ClientSettings
from doorkeeper.client.topics import TopicsApi
from doorkeeper.errors import InputError
from doorkeeper.rules.javatext import escape_for_display

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

MAX_PORT: Final = 65535


class Admin(ConfigsApi, QuotasApi, TopicsApi, ClusterApi, ScramApi, AclsApi):
    """An administrator's connection to a Kafka cluster.

    async with Admin("localhost:9092") as admin:
        topics = await admin.list_topics()

    `controllers=True`: the addresses are those of controllers. Then changes go to the active controller, and calls that
    Kafka's own Admin does not offer there raise UnsupportedEndpointTypeError. Any string may be the client id.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        client_id: str | None = None,
        controllers: bool = False,
        settings: ClientSettings | None = None,
    ) -> None:
        """Nothing is sent yet.

        :raises InputError: for an address that is none.
        :raises ResourceIdentifierTooLargeError: for a client id that no request can carry.
        """
        settings = settings or ClientSettings()
        if client_id is not None:
            settings = replace(settings, client_id=client_id)
        if settings.client_id is not None:
            require_string_fits("client_id", settings.client_id)
        self._settings = settings
        self._router = Router(parse_addresses(bootstrap), settings, controllers=controllers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._router.close()


def parse_addresses(text: str) -> list[tuple[str, int]]:
    """`host:port,[::1]:port` as pairs (ClientUtils.parseAndValidateAddresses).

    :raises InputError: naming the part that is no address.
    """
    addresses = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        host, colon, port = part.rpartition(":")
        host = host[host.rfind("://") + 3 :] if "://" in host else host
        if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > MAX_PORT:
            raise InputError(f"Invalid url in bootstrap.servers: {escape_for_display(part)}")
        addresses.append((host.strip("[]"), int(port)))
    if not addresses:
        raise InputError("No resolvable bootstrap urls given in bootstrap.servers")
    return addresses
