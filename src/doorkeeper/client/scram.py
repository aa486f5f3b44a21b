"""SCRAM credentials of users. What leaves is the salted password; the password itself stays here."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from doorkeeper.client.api import Api, check_whole
from doorkeeper.client.errors import error_for
from doorkeeper.client.results import Results
from doorkeeper.client.router import Target
from doorkeeper.wire.kafka_enum import KafkaEnum
from doorkeeper.wire.scram import salted_password

DESCRIBE_USER_SCRAM_CREDENTIALS: Final = 50
ALTER_USER_SCRAM_CREDENTIALS: Final = 51
SALT_BYTES: Final = 32
DEFAULT_ITERATIONS: Final = 4096


class ScramMechanism(KafkaEnum):
    """Kafka's numbers of the mechanisms."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        """The name that SASL gives it."""
        return self.name.replace("_", "-")

    @classmethod
    def from_name(cls, name: str) -> ScramMechanism | None:
        """The mechanism of that SASL name."""
        return {one.mechanism_name: one for one in cls if one}.get(name)


@dataclass(frozen=True, slots=True)
class ScramCredentialInfo:
    """What may be known of a credential."""

    mechanism: ScramMechanism
    iterations: int


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    """A credential to be stored. A salt is made if none is given."""

    user: str
    mechanism: ScramMechanism
    password: bytes = field(repr=False)
    iterations: int = DEFAULT_ITERATIONS
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(SALT_BYTES), repr=False)

    def to_wire(self) -> dict[str, Any]:
        """The upsertion as the request has it."""
        name = self.mechanism.mechanism_name
        return {
            "name": self.user,
            "mechanism": self.mechanism,
            "iterations": self.iterations,
            "salt": self.salt,
            "salted_password": salted_password(name, self.password, self.salt, self.iterations),
        }


@dataclass(frozen=True, slots=True)
class ScramDeletion:
    """A credential to be removed."""

    user: str
    mechanism: ScramMechanism


class ScramApi(Api):
    """The part of Admin about SCRAM credentials."""

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> Results[str, tuple[ScramCredentialInfo, ...]]:
        """Which credentials the users have; None (or nobody named): all users."""
        asked = [{"name": name} for name in users or ()]
        values = {"users": asked or None}
        answer = await self._router.call(Target.ANY_BROKER, DESCRIBE_USER_SCRAM_CREDENTIALS, values, check_whole)
        return Results(
            (
                one.user,
                tuple(ScramCredentialInfo(ScramMechanism(it.mechanism), it.iterations) for it in one.credential_infos),
                error_for(one.error_code, one.error_message),
            )
            for one in answer.results
        )

    async def alter_user_scram_credentials(
        self, alterations: Iterable[ScramUpsertion | ScramDeletion]
    ) -> Results[str, None]:
        """Store and remove credentials; the answer is per user."""
        given = list(alterations)
        values = {
            "deletions": [
                {"name": one.user, "mechanism": one.mechanism} for one in given if isinstance(one, ScramDeletion)
            ],
            "upsertions": [one.to_wire() for one in given if isinstance(one, ScramUpsertion)],
        }
        answer = await self._router.call(Target.CONTROLLER_BROKER, ALTER_USER_SCRAM_CREDENTIALS, values)
        return Results((one.user, None, error_for(one.error_code, one.error_message)) for one in answer.results)
