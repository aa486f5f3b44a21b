"""How clients of a node log in: PLAIN's users from the configs, SCRAM's credentials from the metadata image."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from doorkeeper.cluster.controller.scram import MECHANISMS
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.sasl_config import SaslConfig
from doorkeeper.cluster.server_config import NodeConfig
from doorkeeper.net.authentication import Authentication
from doorkeeper.net.service import Answer, Peer
from doorkeeper.wire.codec import Request
from doorkeeper.wire.sasl_login import PLAIN, Dialogue, PlainServer
from doorkeeper.wire.scram import ScramCredential, ScramServer, made_up

NONCE_BYTES: Final = 24
_NUMBERS: Final = {name: number for number, name in MECHANISMS.items()}


class Logins:
    """Makes the authentication of one role's listeners."""

    def __init__(
        self,
        config: NodeConfig,
        image: Callable[[], MetadataImage],
        gate: Callable[[], Awaitable[None] | None],
        refuse: Callable[[Request, Peer], Answer | None],
    ) -> None:
        """:param gate: gives what to wait for while the image is not up to date.
        :param refuse: gives the answer to a login's request that the door refuses.
        """
        self._delay = config.seconds("connection.failed.authentication.delay.ms")
        self._max_bytes = config.number("sasl.server.max.receive.size")
        self._image = image
        self._gate = gate
        self._refuse = refuse
        self._secret = secrets.token_bytes(32)

    def at(self, sasl: SaslConfig) -> Authentication:
        """The authentication at a listener with these configs."""
        mechanisms: dict[str, Callable[[], Dialogue]] = {
            name: partial(PlainServer, sasl.plain_users) if name == PLAIN else partial(self._scram, name)
            for name in sasl.mechanisms
        }
        return Authentication(mechanisms, self._delay, self._max_bytes, self._gate, self._refuse)

    def _scram(self, mechanism: str) -> ScramServer:
        return ScramServer(mechanism, partial(self._credential, mechanism), secrets.token_urlsafe(NONCE_BYTES))

    def _credential(self, mechanism: str, name: str) -> ScramCredential:
        stored = self._image().scram.credentials.get((_NUMBERS[mechanism], name))
        if stored is None:
            return made_up(self._secret, mechanism, name)
        return ScramCredential(stored.salt, stored.stored_key, stored.server_key, stored.iterations)
