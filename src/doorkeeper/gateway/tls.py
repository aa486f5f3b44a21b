"""TLS towards clients: contexts, the name that a client asks for (SNI), and the principal of its certificate."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from doorkeeper.errors import InputError

_ASKED_NAME: Final = "doorkeeper_asked_name"
_SHORT_NAMES: Final[Mapping[str, str]] = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
"""The attributes that RFC 2253 has short names for, as OpenSSL calls them."""
_ESCAPED: Final = frozenset(',+"\\<>;')


class ClientAuth(StrEnum):
    """Whether clients show a certificate (`ssl.client.auth`)."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """The gateway's side of TLS towards clients; files are PEM."""

    certificate: Path
    key: Path | None = None
    """None: it stands in the certificate's file."""
    client_ca: Path | None = None
    client_auth: ClientAuth = ClientAuth.NONE


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """A context for new connections.

    :raises InputError: when a file can't be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = _remember_name
    load_files(context, settings)
    return context


def load_files(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Read certificate, key and authorities, again too: they count for new connections.

    :raises InputError: when a file can't be used.
    """
    try:
        context.load_cert_chain(settings.certificate, settings.key)
        if settings.client_auth is not ClientAuth.NONE:
            if settings.client_ca is None:
                raise InputError(
                    "tls-client-auth needs tls-client-ca, the authorities that clients' certificates are of"
                )
            context.load_verify_locations(settings.client_ca)
            required = settings.client_auth is ClientAuth.REQUIRED
            context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    except (OSError, ssl.SSLError) as error:
        names = ", ".join(str(one) for one in (settings.certificate, settings.key, settings.client_ca) if one)
        raise InputError(f"TLS can't be served with {names}: {error}") from error


def _remember_name(connection: Any, name: str | None, context: ssl.SSLContext) -> None:
    setattr(connection, _ASKED_NAME, name)


def asked_name(connection: object) -> str | None:
    """The host name that a client asked for when it said hello; None without TLS or name."""
    name = getattr(connection, _ASKED_NAME, None)
    return name if isinstance(name, str) else None


def principal_of(certificate: Mapping[str, Any] | None) -> str | None:
    """The principal that a verified certificate names, as Kafka's default builder does: `User:` and its subject.

    :param certificate: as `SSLObject.getpeercert` gives it; empty or None for none.
    """
    if not certificate:
        return None
    relative = [
        "+".join(f"{_SHORT_NAMES.get(key, key)}={_escape(value)}" for key, value in part)
        for part in certificate.get("subject", ())
    ]
    return "User:" + ",".join(reversed(relative)) if relative else None


def _escape(value: str) -> str:
    escaped = "".join(f"\\{one}" if one in _ESCAPED else one for one in value)
    if escaped.startswith((" ", "#")):
        escaped = f"\\{escaped}"
    return f"{escaped[:-1]}\\ " if escaped.endswith(" ") and len(escaped) > 1 else escaped
